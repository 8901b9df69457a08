// The page of bert-infer --task attention: what each token attends to, by layer and head.
const inputs = data.inputs;
let shown = inputs[0], layer = 0, head = 0, token = 0;

document.getElementById("about").textContent = visible(data.model);

// Two digits of base 36 are thousandths; a head is [S, S], by rows.
function unpack(text, size) {
  const values = Array.from({length: text.length / 2}, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 36) / 1000);
  return Array.from({length: size}, (_, i) => values.slice(i * size, (i + 1) * size));
}
const rowsOf = (j, h) => unpack(shown.layers[j].heads[h], shown.tokens.length);
const segment = (i) => Math.min(shown.tokens[i].segment, 1);
const isPair = () => shown.tokens.some((one) => one.segment > 0);
// The first token of the second text, or -1.
const border = () => shown.tokens.findIndex((one) => one.segment > 0);
const percent = (value) => value < 0.005 ? "" : String(Math.round(100 * value));

const text = place(() => [
  make("p", {text: shown.text}),
  make("ol", {className: "tokens"}, ...shown.tokens.map((one, i) => make("li", {}, tokenButton(one, i)))),
  shown.truncated ? note("The text is longer: the model read this much of it.") : null,
  note("Solid line: the first text. Dashed: the second. Choose a token to see what it attends to.")]);

function tokenButton(one, i) {
  const button = make("button", {className: `token s${segment(i)}`, type: "button", text: one.text, title: `id ${one.id}`});
  button.setAttribute("aria-pressed", i === token);
  button.addEventListener("click", () => { token = i; draw(); });
  return button;
}

const heads = place(() => make("div", {className: "heads", role: "group", ariaLabel: "Head"},
  ...shown.layers[layer].heads.map((_, h) => {
    const button = make("button", {type: "button", ariaLabel: "Head " + h}, heatCanvas(rowsOf(layer, h), Math.sqrt, {ariaHidden: "true"}), "Head " + h);
    button.setAttribute("aria-pressed", h === head);
    button.addEventListener("click", () => { head = h; draw(); });
    return button;
  })));

// Beyond this many tokens, a table of all pairs would be no help.
const mostInTable = 64;
const matrix = place(() => {
  const rows = rowsOf(layer, head), title = `Layer ${shown.layers[layer].layer}, head ${head}: how much, in percent, the token of a row attends to that of a column`;
  if (rows.length <= mostInTable) return heatTable(rows, title);
  const canvas = heatCanvas(rows, Math.sqrt, {role: "img", ariaLabel: title});
  canvas.style.width = "48rem";
  return [note(title + (isPair() ? `. The second text begins at row and column ${border()}.` : ".")), canvas];
});

function heatTable(rows, title) {
  const second = (i) => i === border() ? "second" : "";
  const heading = (scope) => (one, i) => make("th", {scope, text: one.text, className: `s${segment(i)} ${second(i)}`});
  const body = make("tbody", {}, ...rows.map((row, y) => make("tr", {className: second(y)}, heading("row")(shown.tokens[y], y),
    ...row.map((value, x) => {
      const cell = make("td", {text: percent(value), title: `${apart(shown.tokens[y].text)} → ${apart(shown.tokens[x].text)}: ${value.toFixed(3)}`,
        tabIndex: x + y === 0 ? 0 : -1, className: `${second(x)} ${value > 0.6 ? "deep" : ""}`});
      cell.style.backgroundColor = `rgba(var(--heat),${value.toFixed(3)})`;
      return cell;
    }))));
  const result = make("table", {className: "heat"}, make("caption", {text: title}),
    make("thead", {}, make("tr", {}, make("td"), ...shown.tokens.map(heading("col")))), body);
  result.addEventListener("keydown", (event) => moveByKeys(event, body));
  return make("div", {className: "scroll"}, result);
}

const attended = place(() => {
  const row = rowsOf(layer, head)[token];
  const order = row.map((value, i) => ({value, i})).sort((a, b) => b.value - a.value).slice(0, 10);
  return table(`What token ${token}, ${visible(shown.tokens[token].text)}, attends to most`, [
    {name: "Position", cell: ({i}) => String(i)},
    {name: "Token", cell: ({i}) => tokenSpan(shown.tokens[i].text, segment(i))},
    {name: "Attention", number: true, cell: ({value}) => value.toFixed(3)}], order);
});

// Of each head, what share goes where: between the texts, to the special tokens at the ends, to the token itself.
const summary = place(() => {
  const last = shown.tokens.length - 1;
  const rows = shown.layers.flatMap((one) => one.sums.map((sums, h) => ({layer: one.layer, head: h, ...sums})));
  const share = (name, key) => ({name, number: true, cell: (row) => (100 * row[key]).toFixed(1)});
  const columns = [{name: "Layer", cell: (row) => `Layer ${row.layer}, head ${row.head}`}, share("To itself", "self"),
    share(`To ${visible(shown.tokens[0].text)}`, "first"), share(`To the last ${visible(shown.tokens[last].text)}`, "last")];
  if (isPair()) columns.splice(1, 0, share("To the other text", "other"));
  return table("Percent of all attention", columns, rows);
});

function draw() {
  for (const one of [text, heads, matrix, attended]) one.show();
}
function drawInput(index) {
  shown = inputs[index];
  token = 0;
  summary.show();
  draw();
}

if (!inputs.length) section("Inputs", note("There are none."));
else {
  const choices = [];
  if (inputs.length > 1) choices.push(choice("Input", inputs.map((input, i) => [i, `${input.index}: ${input.text.slice(0, 60)}`]), drawInput));
  choices.push(choice("Layer", inputs[0].layers.map((one, j) => [j, one.layer]), (value) => { layer = +value; head = 0; draw(); }));
  section("Text", make("div", {className: "row"}, ...choices), text);
  section("Attention", heads, matrix, attended);
  section("Where attention goes", summary);
  drawInput(0);
}
section("Environment", environmentFacts(data.environment));
