// The page of bert-bench.
const rows = data.rows;
document.getElementById("about").textContent = visible(`${data.model}, ${data.task === "hidden" ? "the last hidden state" : "logits"}`);

const rowName = (row) => `${row.shape}  ${row.precision}  ${row.backend}  ${row.threads} thread${row.threads > 1 ? "s" : ""}`;
// What a chart has room for.
const cut = (row) => row.shape.length > 20 ? {...row, shape: row.shape.slice(0, 19) + "…"} : row;
const percent = (value) => `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)} %`;
const floorOf = (row) => row.floor_ms ? Math.max(row.floor_ms.compute, row.floor_ms.weights) : null;
const interval = (ends) => ends ? `${short(ends[0], 4)} to ${short(ends[1], 4)}` : "too few runs";
const precisions = [...new Set(rows.map((row) => row.precision))];

showTable();
if (data.has_baseline) showBaseline();
showThroughput();
showDistribution();
if (rows.some((row) => row.profile_ms)) showProfile();
section("Environment", environmentFacts(data.environment), facts([...new Set(rows.map((row) => row.product))].map((product) => ["Products by", product])));

function showTable() {
  const number = (name, cell) => ({name, number: true, cell});
  section("Latency and throughput", table("A row is a batch of one shape; the interval is the 95 % confidence interval of the median", [
    {name: "Shape", tight: true, cell: (row) => row.shape}, {name: "Precision", cell: (row) => row.precision},
    {name: "Backend", cell: (row) => row.backend}, number("Threads", (row) => String(row.threads)),
    number("Tokens", (row) => String(row.tokens)), number("Median, ms", (row) => short(row.median_ms, 4)),
    number("Interval", (row) => interval(row.median_interval_ms)), number("Least, ms", (row) => short(row.min_ms, 4)),
    number("Floor, ms", (row) => floorOf(row) === null ? "" : short(floorOf(row), 4)),
    number("Tokens/s", (row) => Math.round(row.tokens_per_s).toLocaleString("en")),
    number("GFLOP/s", (row) => short(row.gflops, 4)), number("Of the peak", (row) => `${Math.round(100 * row.peak_fraction)} %`),
    number("Runs", (row) => String(row.runs))], rows));
}

// A change is one if its interval does not hold 0.
function showBaseline() {
  const verdict = ({change, change_interval}) => {
    if (!change_interval) return ["soft", "too few runs"];
    const [low, high] = change_interval;
    return low > 0 ? ["bad", "▲ slower"] : high < 0 ? ["good", "▼ faster"] : ["soft", change === 0 ? "same" : "≈ within the spread"];
  };
  const processors = [...new Set(rows.map((row) => row.baseline?.processor).filter(Boolean))];
  section("Since the baseline", ...processors.map((name) => note(`The baseline was timed on another processor: ${name}.`)), table("Of the median, with its 95 % confidence interval", [
    {name: "Shape", tight: true, cell: (row) => rowName(row)},
    {name: "Baseline, ms", number: true, cell: (row) => row.baseline ? short(row.baseline.median_ms, 4) : "not timed"},
    {name: "Now, ms", number: true, cell: (row) => short(row.median_ms, 4)},
    {name: "Change", number: true, cell: (row) => row.baseline ? percent(row.baseline.change) : ""},
    {name: "Interval", number: true, cell: (row) => row.baseline?.change_interval ? row.baseline.change_interval.map(percent).join(" to ") : ""},
    {name: "Verdict", cell: (row) => {
      if (!row.baseline) return "";
      const [className, text] = verdict(row.baseline);
      return make("span", {className, text});
    }}], rows),
  note("The interval tells the spread within the two runs, not how the machine changes from one hour to the next: for a decision, time both in turns."));
}

// Lying bars, one for each row: draw(row, x, y) returns what stands at y; x maps a value to its place.
function lyingChart(title, most, ticks, draw, unit) {
  const width = 1000, left = 290, right = 90, step = 30, top = 10, height = top + rows.length * step + 40;
  const x = (value) => left + (width - left - right) * value / most;
  const parts = ticks.map((tick) => svg("g", {}, svg("line", {x1: x(tick), x2: x(tick), y1: top, y2: height - 36, class: "grid"}),
    svg("text", {x: x(tick), y: height - 20, "text-anchor": "middle", class: "soft", text: short(tick) + unit})));
  rows.forEach((row, i) => {
    const y = top + i * step;
    parts.push(svg("text", {x: left - 8, y: y + 18, "text-anchor": "end", text: rowName(cut(row))}), ...[draw(row, x, y + 4)].flat().filter(Boolean));
  });
  return drawing(width, height, title, hatchings(6), ...parts);
}

function showThroughput() {
  const scale = axis(rows.map((row) => row.tokens_per_s), false), most = scale.ticks.at(-1);
  section("Throughput", lyingChart("Tokens per second", most, scale.ticks, (row, x, y) => [
    svg("rect", {x: x(0), y, width: x(row.tokens_per_s) - x(0), height: 20, fill: `url(#hatch${precisions.indexOf(row.precision) % 6})`}),
    svg("text", {x: x(row.tokens_per_s) + 5, y: y + 14, text: Math.round(row.tokens_per_s).toLocaleString("en")})], ""),
  note(`Tokens per second at the median. Hatched by precision: ${precisions.join(", ")}.`));
}

function showDistribution() {
  const over = (row, share) => row.quantiles_ms[Math.round(share * (row.quantiles_ms.length - 1))] / row.median_ms;
  const most = Math.min(3, Math.max(1.2, ...rows.map((row) => over(row, 0.95)))) * 1.05;
  const ticks = [0, 0.5, 1, 1.5, 2, 2.5, 3].filter((tick) => tick <= most);
  section("Distribution", lyingChart("Times of the runs over their median", most, ticks, (row, x, y) => {
    const at = (share) => x(Math.min(most, over(row, share)));
    return [svg("line", {x1: at(0), x2: at(1), y1: y + 10, y2: y + 10, class: "axis"}),
      ...row.quantiles_ms.map((value) => svg("line", {x1: x(Math.min(most, value / row.median_ms)), x2: x(Math.min(most, value / row.median_ms)), y1: y + 6, y2: y + 14, stroke: colour(0), "stroke-opacity": 0.5})),
      svg("rect", {x: at(0.25), y, width: Math.max(1, at(0.75) - at(0.25)), height: 20, fill: "none", stroke: colour(0), "stroke-width": 2}),
      svg("line", {x1: x(1), x2: x(1), y1: y, y2: y + 20, stroke: "var(--fg)", "stroke-width": 3}),
      over(row, 1) > most && svg("text", {x: x(most) + 4, y: y + 14, text: `to ${short(over(row, 1))} ×`})];
  }, " ×"), note("Over the median of its row: the box holds the middle half of the runs, the line goes from the fastest to the slowest, a stroke stands for every fortieth."));
}

function showProfile() {
  const timed = rows.filter((row) => row.profile_ms), names = Object.keys(timed[0].profile_ms);
  const total = (row) => Object.values(row.profile_ms).reduce((sum, part) => sum + part, 0);
  section("Profile and floor", lyingChart("Where the time of an average run goes", 1, [0, 0.25, 0.5, 0.75, 1], (row, x, y) => {
    if (!row.profile_ms) return null;
    let at = 0;
    const parts = names.map((name, i) => {
      const share = Math.max(0, row.profile_ms[name]) / total(row), begin = at;
      at += share;
      return svg("g", {}, svg("rect", {x: x(begin), y, width: x(share) - x(0), height: 20, fill: `url(#hatch${i % 6})`, stroke: "var(--bg)"}),
        svg("title", {text: `${name}: ${short(row.profile_ms[name])} ms`}));
    });
    const floor = x(Math.min(1, floorOf(row) / total(row)));
    return [...parts, svg("line", {x1: floor, x2: floor, y1: y - 4, y2: y + 24, stroke: "var(--fg)", "stroke-width": 3}),
            svg("text", {x: x(1) + 6, y: y + 14, text: `${short(total(row))} ms`})];
  }, ""),
  drawing(1000, 26, "Hatchings: " + names.join(", "), ...names.map((name, i) => svg("g", {},
    svg("rect", {x: 20 + 150 * i, y: 4, width: 26, height: 16, fill: `url(#hatch${i % 6})`}), svg("text", {x: 52 + 150 * i, y: 17, text: name})))),
  note("Shares of an average run. The upright line is the floor: computing at the peak that was measured alongside, or reading the weights from memory once, whichever takes longer. Weights that stay in a cache from run to run can beat it."),
  table("In milliseconds", [{name: "Shape", tight: true, cell: rowName},
    ...names.map((name) => ({name, number: true, cell: (row) => short(row.profile_ms[name])})),
    {name: "Floor: compute", number: true, cell: (row) => short(row.floor_ms.compute)},
    {name: "Floor: weights", number: true, cell: (row) => short(row.floor_ms.weights)}], timed));
}
