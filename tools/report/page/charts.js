// Charts in SVG. What tells series apart is the dash and the marker, or the hatching, besides the colour.
const colour = (i) => `var(--c${i % 6})`;
const dashes = ["", "6 3", "2 3", "9 3 2 3", "1 5", "12 4"];

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") element.textContent = visible(value);
    else element.setAttribute(key, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

function drawing(width, height, label, ...children) {
  return svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": visible(label)}, ...children);
}

function marker(kind, x, y, i) {
  const fill = colour(i), r = 4;
  const shapes = [
    () => svg("circle", {cx: x, cy: y, r, fill}),
    () => svg("rect", {x: x - r, y: y - r, width: 2 * r, height: 2 * r, fill}),
    () => svg("path", {d: `M${x} ${y - 5}l5 9h-10z`, fill}),
    () => svg("path", {d: `M${x} ${y - 5}l5 5l-5 5l-5 -5z`, fill}),
    () => svg("path", {d: `M${x - r} ${y - r}l8 8m0 -8l-8 8`, stroke: fill, "stroke-width": 2}),
  ];
  return shapes[kind % shapes.length]();
}

// Round ends and steps of an axis that holds all values, linear or by powers of ten.
function axis(values, log) {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!finite.length) finite.push(log ? 1e-6 : 0, 1);
  let low = Math.min(...finite), high = Math.max(...finite);
  const ticks = [];
  if (log) {
    low = Math.floor(Math.log10(low));
    high = Math.max(low + 1, Math.ceil(Math.log10(high)));
    const step = Math.ceil((high - low) / 8);
    for (let power = low; power <= high; power += step) ticks.push(10 ** power);
    return {ticks, at: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)};
  }
  low = Math.min(0, low);
  const rough = (high - low || 1) / 5, base = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * base).find((x) => x >= rough);
  const top = Math.ceil(high / step - 1e-9) * step || step;
  for (let value = low; value <= top + step / 2; value += step) ticks.push(+value.toPrecision(12));
  return {ticks, at: (value) => (value - low) / (top - low)};
}

function legend(names, sample, x, y) {
  return names.map((name, i) => svg("g", {}, sample(i, x, y + 18 * i), svg("text", {x: x + 34, y: y + 4 + 18 * i, text: name})));
}

// series: [{name, values, color}], one value for each label; lines: [{name, value}] across the chart.
function lineChart({title, labels, series, lines = [], log = true, unit = ""}) {
  const width = 1000, height = 340, left = 80, right = 220, top = 16, bottom = 74;
  const scale = axis([...series.flatMap((one) => one.values), ...lines.map((line) => line.value)], log);
  const x = (i) => left + (width - left - right) * (labels.length > 1 ? i / (labels.length - 1) : 0.5);
  const y = (value) => height - bottom - (height - top - bottom) * scale.at(value);
  const parts = scale.ticks.map((tick) => svg("g", {},
    svg("line", {x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid"}),
    svg("text", {x: left - 8, y: y(tick) + 4, "text-anchor": "end", text: short(tick, 2) + unit})));
  const every = Math.ceil(labels.length / 30);
  labels.forEach((label, i) => i % every === 0 && parts.push(svg("text", {
    transform: `translate(${x(i)} ${height - bottom + 14}) rotate(30)`, text: label})));
  lines.forEach((line) => parts.push(
    svg("line", {x1: left, x2: width - right, y1: y(line.value), y2: y(line.value), stroke: "var(--bad)", "stroke-width": 2, "stroke-dasharray": "10 4"}),
    svg("text", {x: left + 6, y: y(line.value) - 5, text: line.name})));
  series.forEach((one, i) => {
    const points = one.values.map((value, j) => [x(j), value]).filter(([, value]) => value !== null && (!log || value > 0));
    parts.push(svg("polyline", {points: points.map(([px, value]) => `${px},${y(value)}`).join(" "), fill: "none",
      stroke: colour(i), "stroke-width": 2, "stroke-dasharray": dashes[i % dashes.length]}));
    if (points.length <= 80) points.forEach(([px, value]) => parts.push(marker(i, px, y(value), i)));
  });
  parts.push(...legend(series.map((one) => one.name), (i, lx, ly) => svg("g", {},
    svg("line", {x1: lx, x2: lx + 28, y1: ly, y2: ly, stroke: colour(i), "stroke-width": 2, "stroke-dasharray": dashes[i % dashes.length]}),
    marker(i, lx + 14, ly, i)), width - right + 20, top + 10));
  return drawing(width, height, title, ...parts);
}

// Upright bars with a count above each; line: {at (a fraction of the bars), name}.
function histogram({title, labels, counts, line}) {
  const width = 1000, height = 260, left = 20, bottom = 44, top = 30;
  const most = Math.max(1, ...counts), step = (width - 2 * left) / counts.length;
  const y = (count) => height - bottom - (height - top - bottom) * (count > 0 ? Math.max(0.01, Math.log1p(count) / Math.log1p(most)) : 0);
  const parts = counts.flatMap((count, i) => [
    svg("rect", {x: left + i * step + 1, y: y(count), width: step - 2, height: height - bottom - y(count), fill: colour(0)},
        svg("title", {text: `${labels[i]}: ${count}`})),
    count > 0 && svg("text", {x: left + (i + 0.5) * step, y: y(count) - 4, "text-anchor": "middle", text: compact(count)}),
    svg("text", {x: left + (i + 0.5) * step, y: height - bottom + 16, "text-anchor": "middle", class: "soft", text: labels[i]})]);
  if (line) {
    const x = left + line.at * step;
    parts.push(svg("line", {x1: x, x2: x, y1: top - 18, y2: height - bottom, stroke: "var(--bad)", "stroke-width": 2, "stroke-dasharray": "10 4"}),
      svg("text", {x: x + 5, y: top - 8, text: line.name}));
  }
  return drawing(width, height, title, ...parts);
}
const compact = (count) => count < 1e4 ? String(count) : count < 1e6 ? Math.round(count / 1e3) + "k" : (count / 1e6).toFixed(1) + "M";

// Hatchings for areas, to be put in a drawing once.
function hatchings(count) {
  return svg("defs", {}, ...Array.from({length: count}, (_, i) => svg("pattern",
    {id: `hatch${i}`, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${[0, 45, 135, 90, 45, 0][i % 6]})`},
    svg("rect", {width: 8, height: 8, fill: colour(i)}),
    i > 0 && svg("line", {x1: 0, y1: 0, x2: 0, y2: 8, stroke: "var(--bg)", "stroke-width": [0, 2, 2, 3, 5, 4][i % 6]}))));
}

// A matrix as a picture, one pixel a value or more; shade(value) from 0 to 1 is how dark.
function heatCanvas(rows, shade, properties = {}) {
  const canvas = make("canvas", {width: rows[0]?.length ?? 1, height: rows.length, ...properties});
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  rows.forEach((row, y) => row.forEach((value, x) => {
    const at = 4 * (y * canvas.width + x), dark = Math.max(0, Math.min(1, shade(value)));
    // From a light yellow to a dark blue: darker means more, in grey too.
    image.data.set([255 - 245 * dark, 250 - 210 * dark, 225 - 125 * dark, 255], at);
  }));
  context.putImageData(image, 0, 0);
  return canvas;
}
