// The page of bert-infer --task hidden --layers 0: what the embedding layer adds up.
const inputs = data.inputs;
let shown = inputs[0], token = 0;

document.getElementById("about").textContent = visible(data.model);

const segment = (i) => Math.min(shown.tokens[i].segment, 1);
const add = (a, b) => a.map((x, i) => x + b[i]);
const length = (row) => Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));
const mean = (row) => row.reduce((sum, x) => sum + x, 0) / row.length;
const spread = (row) => Math.sqrt(mean(row.map((x) => (x - mean(row)) ** 2)));

// What is added for token i, [name, row], without the tables that the model lacks.
function partsOf(i) {
  return [["token", shown.word[i]], ["position", shown.position?.[i]],
          ["segment", shown.segments?.[shown.tokens[i].segment]]].filter(([, row]) => row);
}
const sumOf = (i) => partsOf(i).map(([, row]) => row).reduce(add);

const text = place(() => [
  make("p", {text: shown.text}),
  make("ol", {className: "tokens"}, ...shown.tokens.map((one, i) => {
    const button = make("button", {className: `token s${segment(i)}`, type: "button", text: one.text, title: `id ${one.id}`});
    button.setAttribute("aria-pressed", i === token);
    button.addEventListener("click", () => { token = i; text.show(); detail.show(); });
    return make("li", {}, button);
  })),
  note("Solid line: segment 0, the first text. Dashed: segment 1, the second. Choose a token to see its rows below.")]);

const rows = place(() => table("Lengths of the rows that are added, and what LayerNorm makes of their sum", [
  {name: "Position", number: true, cell: (i) => String(i)},
  {name: "Token", cell: (i) => tokenSpan(shown.tokens[i].text, segment(i))},
  {name: "Id", number: true, cell: (i) => String(shown.tokens[i].id)},
  {name: "Segment", number: true, cell: (i) => String(shown.tokens[i].segment)},
  {name: "Position's row", number: true, cell: (i) => shown.position ? String(shown.rows[i]) : "none"},
  ...["token", "position", "segment"].map((name) => ({name: `|${name}|`, number: true,
    cell: (i) => { const part = partsOf(i).find(([other]) => other === name); return part ? short(length(part[1])) : "none"; }})),
  {name: "|sum|", number: true, cell: (i) => short(length(sumOf(i)))},
  {name: "Sum's mean", number: true, cell: (i) => short(mean(sumOf(i)))},
  {name: "Sum's deviation", number: true, cell: (i) => short(spread(sumOf(i)))},
  {name: "|LayerNorm|", number: true, cell: (i) => short(length(shown.normed[i]))}], shown.tokens.map((_, i) => i)));

// A value's place between the ends of what the pictures show; darker is greater.
const shade = (most) => (value) => (value / most + 1) / 2;
function picture(name, some, most, height) {
  const canvas = heatCanvas(some, shade(most), {role: "img", ariaLabel: `${name}: ${some.length} rows of ${some[0].length} numbers`});
  canvas.style.width = "100%";
  canvas.style.height = height;
  return make("figure", {style: "margin:.4rem 0"}, make("figcaption", {text: name}), canvas);
}
// Nearly all numbers are within this of 0: single outliers should not leave the rest pale.
function usual(some) {
  const sizes = some.flat().map(Math.abs).sort((a, b) => a - b);
  return sizes[Math.floor(0.99 * (sizes.length - 1))] || 1;
}

const pictures = place(() => {
  const all = shown.tokens.map((_, i) => i), sums = all.map(sumOf), most = usual(sums), height = `${Math.min(24, 0.6 * all.length + 0.6)}rem`;
  const named = [["token", shown.word], ["position", shown.position], ["segment", shown.segments && all.map((i) => shown.segments[shown.tokens[i].segment])]];
  return [note(`A row for each token, a column for each of ${shown.word[0].length} numbers; light is −${short(most)}, dark +${short(most)} (LayerNorm: ∓${short(usual(shown.normed))}).`),
    ...named.filter(([, some]) => some).map(([name, some], i) => picture(`${i ? "+ " : ""}${name}`, some, most, height)),
    picture("= sum", sums, most, height), picture("LayerNorm of the sum", shown.normed, usual(shown.normed), height)];
});

const detail = place(() => {
  const parts = [...partsOf(token), ["sum", sumOf(token)], ["LayerNorm", shown.normed[token]]], sum = sumOf(token);
  const cosine = (row) => row.reduce((all, x, i) => all + x * sum[i], 0) / (length(row) * length(sum) || 1);
  return [make("h3", {text: `Token ${token}: ${shown.tokens[token].text}`}),
    ...parts.map(([name, row]) => picture(name, [row], usual([row]), "1.4rem")),
    table("The same in numbers", [
      {name: "Row", cell: ([name]) => name}, {name: "Length", number: true, cell: ([, row]) => short(length(row))},
      {name: "Cosine with the sum", number: true, cell: ([, row]) => cosine(row).toFixed(3)},
      {name: "First numbers", cell: ([, row]) => row.slice(0, 8).map((x) => short(x)).join(", ") + (row.length > 8 ? ", …" : "")}], parts)];
});

const kinds = {learned: "learned: a table in the checkpoint", sinusoidal: "sinusoidal: sines and cosines of the position"};
function showPositions() {
  const {kind, count, step, similarities} = data.positions;
  if (!similarities) {
    return section("Positions", note(`This model adds no row for the position to a token's: its positions are ${kind}, and its layers bring them in.`));
  }
  const size = Math.ceil(count / step), cosines = Array.from({length: size}, () => new Array(size));
  for (let i = 0, at = 0; i < size; ++i) {
    for (let j = i; j < size; ++j, at += 2) cosines[i][j] = cosines[j][i] = parseInt(similarities.slice(at, at + 2), 36) / 500 - 1;
  }
  const canvas = heatCanvas(cosines, (value) => (value + 1) / 2, {role: "img", ariaLabel: `Cosines of ${size} positions with each other`});
  canvas.style.width = "36rem";
  const reading = make("p", {role: "status", className: "soft", text: "Point at the picture to read a value."});
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect(), at = (value, whole) => Math.min(size - 1, Math.floor(size * value / whole));
    const i = at(event.offsetY, box.height), j = at(event.offsetX, box.width);
    reading.textContent = `Positions ${i * step} and ${j * step}: ${cosines[i][j].toFixed(3)}`;
  });
  const distances = [...new Set(Array.from({length: 40}, (_, i) => Math.round(size ** (i / 39)) - 1))].filter((d) => d < size);
  const byDistance = distances.map((d) => mean(Array.from({length: size - d}, (_, i) => cosines[i][i + d])));
  section("Positions", note(`${count} positions, ${kinds[kind] ?? kind}. ` + (step > 1 ? `Every ${step}th is shown. ` : "") +
    "Cosine of each row of the table with each other; darker is more alike, from −1 to 1."), canvas, reading,
    lineChart({title: "Mean cosine of two positions by their distance", labels: distances.map((d) => String(d * step)), log: false,
               series: [{name: "mean cosine", values: byDistance}]}), note("By the distance of the two positions."));
}

function drawInput(index) {
  shown = inputs[index];
  token = 0;
  for (const one of [text, rows, pictures, detail]) one.show();
}

if (!inputs.length) section("Inputs", note("There are none."));
else {
  section("Text", inputs.length > 1 ? choice("Input", inputs.map((input, i) => [i, `${input.index}: ${input.text.slice(0, 60)}`]), drawInput) : null, text);
  section("Rows", rows);
  section("The sum", pictures);
  section("One token", detail);
  drawInput(0);
}
showPositions();
if (inputs[0]?.projected) section("Width", note("Before its first layer, the model brings these vectors to another width by a product, which is not shown."));
section("Environment", environmentFacts(data.environment));
