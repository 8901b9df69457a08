// SPDX-License-Identifier: Apache-2.0
// What all pages share. Everything in the data is text: it only ever becomes textContent.
"use strict";
// A page that stops half-way says so.
window.addEventListener("error", (event) => {
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.textContent = "This page could not be drawn as a whole: " + event.message;
  document.body.prepend(message);
});
const data = JSON.parse(document.getElementById("data").textContent);

// What a reader could not see, or what would turn the direction of the text around it, is spelled out.
const visible = (text) => String(text).replace(/[\p{C}\u2028\u2029]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
// In a title, where texts from right to left would turn what stands between them, too.
const apart = (text) => `\u2068${visible(text)}\u2069`;

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "text") element.textContent = visible(value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

let sections = 0;
function section(title, ...children) {
  const id = "section-" + ++sections;
  const element = make("section", {}, make("h2", {id, text: title}), ...children);
  element.setAttribute("aria-labelledby", id);
  document.getElementById("content").append(element);
  return element;
}

const note = (text) => make("p", {className: "soft", text});

// A number in few characters; null stands for one that JSON does not have.
function short(value, digits = 3) {
  if (value === null || value === undefined) return "not finite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 0.01 && size < 1e5 ? String(+value.toPrecision(digits)) : (+value.toPrecision(digits)).toExponential();
}

// columns: [{name, number, tight, cell(row)}], where a cell is a text or an element.
function table(caption, columns, rows) {
  const kind = (column) => column.number ? {className: "number"} : column.tight ? {className: "tight"} : {};
  const head = make("tr", {}, ...columns.map((column) => make("th", {scope: "col", ...kind(column), text: column.name})));
  const body = rows.map((row) => make("tr", {}, ...columns.map((column, i) => {
    const cell = column.cell(row), tag = i === 0 ? "th" : "td";
    const properties = {...kind(column), ...(i === 0 ? {scope: "row"} : {})};
    return cell instanceof Node ? make(tag, properties, cell) : make(tag, {...properties, text: cell ?? ""});
  })));
  return make("div", {className: "scroll"},
    make("table", {}, make("caption", {text: caption}), make("thead", {}, head), make("tbody", {}, ...body)));
}

function facts(pairs) {
  return make("dl", {}, ...pairs.map(([name, value]) => make("div", {}, make("dt", {text: name}), make("dd", {text: value}))));
}

const environmentNames = {
  processor: "Processor", instruction_set: "Instruction set", system: "System", bert_infer: "bert-infer",
  onednn: "oneDNN", created: "Made", architecture: "Architecture", adapter: "Adapter", precision: "Precision",
  backend: "Backend", product: "Products by", workers: "Workers", threads: "Threads",
};
const environmentFacts = (environment) =>
  facts(Object.entries(environment).map(([key, value]) => [environmentNames[key] ?? key, value]));

function filesTable(files) {
  return table("The model's files, as sha256sum prints them", [
    {name: "File", cell: (file) => file.name},
    {name: "Bytes", number: true, cell: (file) => file.bytes.toLocaleString("en")},
    {name: "SHA-256", cell: (file) => make("span", {className: "mono", text: file.sha256})}], files);
}

// A choice that redraws what depends on it. options: [[value, name]].
function choice(name, options, onChange) {
  const id = "choice-" + ++sections;
  const select = make("select", {id}, ...options.map(([value, text]) => make("option", {value, text})));
  select.addEventListener("change", () => onChange(select.value));
  return make("span", {className: "screen"}, make("label", {htmlFor: id, text: name}), select);
}

// A place whose contents draw(...) replaces.
function place(draw) {
  const element = make("div");
  element.show = (...parameters) => element.replaceChildren(...[draw(...parameters)].flat(Infinity).filter(Boolean));
  return element;
}

function tokenSpan(text, segment) {
  return make("span", {className: segment ? "token s1" : "token s0", text, title: segment ? "second text" : "first text"});
}

// Arrow keys move the focus between the cells of a table's body.
function moveByKeys(event, body) {
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  const next = body.rows[cell.parentNode.sectionRowIndex + step[0]]?.cells[cell.cellIndex + step[1]];
  if (next?.tagName !== "TD") return;
  event.preventDefault();
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
