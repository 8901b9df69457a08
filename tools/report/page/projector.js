// The page of bert-infer --projector: principal components and nearest neighbours of embeddings.
const points = data.points;
let chosen = 0, across = 0, up = Math.min(1, data.shares.length - 1), group = data.kept.length ? 0 : "";

document.getElementById("about").textContent = visible(`${data.model}: ${data.vectors} vectors of ${data.size} numbers`);
const name = (point) => point.text || `input ${point.index}`;
const axisName = (i) => `component ${i + 1} (${(100 * data.shares[i]).toFixed(1)} % of the variance)`;

// Values of the chosen kept column, the most frequent first; beyond five, all others are one.
function groups() {
  if (group === "") return null;
  const counts = new Map();
  for (const point of points) counts.set(point.kept[group], (counts.get(point.kept[group]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value).slice(0, 5);
}

const scatter = place(() => {
  if (data.shares.length === 0) return note("All vectors are equal: there are no directions to draw.");
  const width = 900, height = 620, edge = 40, values = (axis) => points.map((point) => point.at[axis]);
  const scale = (axis, from, to) => {
    const low = Math.min(...values(axis)), high = Math.max(...values(axis));
    return (point) => from + (to - from) * (high > low ? (point.at[axis] - low) / (high - low) : 0.5);
  };
  const x = scale(across, edge, width - 200), y = scale(up, height - edge, edge), kinds = groups();
  const kindOf = (point) => { const i = kinds ? kinds.indexOf(point.kept[group]) : 0; return i < 0 ? 5 : i; };
  const near = new Set(points[chosen].near.map(([index]) => index));
  const drawn = points.map((point, i) => {
    const one = svg("g", {}, marker(kindOf(point) % 5, x(point), y(point), kindOf(point)), svg("title", {text: name(point)}));
    one.addEventListener("click", () => choose(i));
    return one;
  });
  const ring = (point, size, dash) => svg("circle", {cx: x(point), cy: y(point), r: size, fill: "none", stroke: "var(--fg)", "stroke-width": 2, "stroke-dasharray": dash});
  const labels = points.length <= 40 ? points.map((point) => svg("text", {x: x(point) + 8, y: y(point) + 4, text: name(point).slice(0, 32)})) : [];
  const legendNames = kinds ? [...kinds.map((kind) => kind || "(empty)"), ...(points.some((point) => kindOf(point) === 5) ? ["others"] : [])] : [];
  return drawing(width, height, `Scatter of ${points.length} embeddings by ${axisName(across)} and ${axisName(up)}`, ...drawn, ...labels,
    ring(points[chosen], 10, ""), ...points.filter((_, i) => near.has(i)).map((point) => ring(point, 7, "2 2")),
    svg("text", {x: edge, y: height - 8, text: `→ ${axisName(across)}`}), svg("text", {x: edge, y: 18, text: `↑ ${axisName(up)}`}),
    ...legend(legendNames, (i, lx, ly) => marker(i % 5, lx + 14, ly, i), width - 190, 40));
});

const neighbours = place(() => table(`Nearest to “${name(points[chosen])}”, by cosine`, [
  {name: "Text", cell: ([index]) => {
    const button = make("button", {type: "button", text: name(points[index])});
    button.addEventListener("click", () => choose(index));
    return button;
  }},
  ...data.kept.map((key, i) => ({name: key, cell: ([index]) => points[index].kept[i]})),
  {name: "Cosine", number: true, cell: ([, cosine]) => cosine.toFixed(4)}], points[chosen].near));

const list = choice("Text", points.map((point, i) => [i, `${point.index}: ${name(point).slice(0, 80)}`]), (value) => choose(+value));
function choose(i) {
  chosen = i;
  list.querySelector("select").value = i;
  scatter.show();
  neighbours.show();
}

if (!points.length) section("Vectors", note("There are none."));
else {
  const axes = data.shares.map((_, i) => [i, i + 1]);
  const controls = [choice("Across", axes, (value) => { across = +value; scatter.show(); }),
                    choice("Up", axes, (value) => { up = +value; scatter.show(); })];
  controls[1].querySelector("select").value = up;
  if (data.kept.length) {
    controls.push(choice("Marked by", [["", "nothing"], ...data.kept.map((key, i) => [i, key])], (value) => { group = value === "" ? "" : +value; scatter.show(); }));
  }
  if (data.kept.length) controls[2].querySelector("select").value = group;
  section("Principal components", make("div", {className: "row"}, ...controls, list), scatter,
    note("The chosen text has a ring, its neighbours dashed ones. What lies side by side here may differ in the directions that are not drawn." +
         (data.vectors > points.length ? ` Only the first ${points.length} vectors are on this page.` : "")));
  section("Nearest neighbours", neighbours);
  choose(0);
}
section("Environment", environmentFacts(data.environment));
