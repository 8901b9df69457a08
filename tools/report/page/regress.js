// The page of bert-regress.
const stages = data.stages, before = data.baseline;
const old = (stage) => before?.stages.find((other) => other.name === stage.name);
const allowed = (stage) => stage.atol === null ? "any" : `${short(stage.atol)} + ${short(stage.rtol)} |e|`;
const firstBad = stages.find((stage) => !stage.within);
// JSON has null for what is not finite, which JavaScript would take for 0.
const size = (value) => value ?? Infinity;
const shown = (value) => Number.isFinite(value) ? short(value) : "not finite";

document.title = `bert-regress: ${data.passed ? "passed" : "FAILED"}`;
document.getElementById("about").textContent =
  visible(`${data.model} against ${data.reference}: ${data.inputs_compared} inputs, ${data.tokens} tokens`);

section("Verdict",
  make("p", {className: "verdict " + (data.passed ? "good" : "bad"), role: "status",
             text: data.passed ? "✔ Passed: every stage within its tolerance" : "✘ Failed"}),
  data.passed ? null : make("p", {className: "mono", text: data.difference}),
  stepUp(),
  data.ids && make("p", {text: `Tokenizer: ${data.ids.compared} ids compared, ` +
    (data.ids.texts_differing ? `${data.ids.texts_differing} texts differ` : "all equal")}));

section("Environment", environmentFacts(data.environment), filesTable(data.files));

if (before) showBaseline();
if (stages.length) {
  showStages();
  showChart();
  showElements();
}
showLabels();

// Where the mean error grows most from one stage to the next, and where to look.
function stepUp() {
  let most = null;
  for (let i = 1; i < stages.length; ++i) {
    const now = size(stages[i].mean_error), then = size(stages[i - 1].mean_error), factor = now / then;
    if (then > 0 && then < Infinity && (!most || factor > most.factor)) most = {factor, from: stages[i - 1].name, to: stages[i].name};
  }
  const growth = most && `The mean error grows most from ${most.from} to ${most.to}` +
    (most.factor < Infinity ? `: ${short(most.factor)} times. ` : ", where it is not finite. ");
  const suspects = [data.ids?.texts_differing ? "the tokenizer" : null, firstBad ? `what computes ${firstBad.name}` : null].filter(Boolean);
  const text = (growth ?? "") + (suspects.length ? `What is wrong is likely in ${suspects.join(" and in ")}.` : "");
  return text && make("p", {text});
}

function showStages() {
  const factor = (now, then) => then ? now === null ? "not finite" : `${short(now / then, 3)} ×` : "";
  const columns = [
    {name: "Stage", cell: (stage) => stage.name},
    {name: "Verdict", cell: (stage) => make("span", {className: stage.within ? "good" : "bad", text: stage.within ? "✔ within" : "✘ OUT"})},
    {name: "Elements", number: true, cell: (stage) => stage.elements.toLocaleString("en")},
    {name: "Beyond", number: true, cell: (stage) => stage.beyond.toLocaleString("en")},
    {name: "Largest error", number: true, cell: (stage) => short(stage.largest_error)},
    {name: "Allowed", number: true, cell: allowed},
    {name: "Mean error", number: true, cell: (stage) => short(stage.mean_error)},
    {name: "Allowed mean", number: true, cell: (stage) => stage.mean_tolerance === null ? "any" : short(stage.mean_allowed)},
    {name: "Largest at", tight: true, cell: (stage) => stage.largest_at}];
  if (before) columns.splice(8, 0,
    {name: "Largest, of baseline", number: true, cell: (stage) => factor(stage.largest_error, old(stage)?.largest_error)},
    {name: "Mean, of baseline", number: true, cell: (stage) => factor(stage.mean_error, old(stage)?.mean_error)});
  section("Stages", table("In the order of the forward pass; |e| is the expected value", columns, stages));
}

function showBaseline() {
  const changes = [];
  const compare = (name, now, then) => { if (now !== then) changes.push({name, then: then ?? "", now: now ?? ""}); };
  const word = (passed) => passed ? "passed" : "failed";
  compare("Verdict", word(data.passed), word(before.passed));
  compare("Model", data.model, before.model);
  compare("Reference", data.reference, before.reference);
  for (const key of Object.keys(environmentNames)) {
    if (key === "created") continue;
    compare(environmentNames[key], data.environment[key], before.environment[key]);
  }
  const sum = (files, name) => files.find((file) => file.name === name)?.sha256;
  // Baselines once named files without their folders, and only those that still come first.
  const nameNow = ({name}) => sum(data.files, name) ? name : data.files.find((file) => file.name.endsWith("/" + name))?.name ?? name;
  const then = before.files.map((file) => ({...file, name: nameNow(file)}));
  for (const name of new Set([...data.files, ...then].map((file) => file.name))) {
    compare(`${name}: SHA-256`, sum(data.files, name)?.slice(0, 16), sum(then, name)?.slice(0, 16));
  }
  for (const stage of stages) {
    const then = old(stage);
    if (!then) compare(stage.name, "compared", "not compared");
    else if (then.within !== stage.within) compare(stage.name, stage.within ? "within" : "out of tolerance", then.within ? "within" : "out of tolerance");
    else compare(`${stage.name}: largest error`, short(stage.largest_error), short(then.largest_error));
  }
  for (const then of before.stages) {
    if (!stages.some((stage) => stage.name === then.name)) compare(then.name, "not compared", "compared");
  }
  compare("Labels changed", data.labels.changed, before.labels.changed);
  section("Since the baseline", changes.length ? table("What changed", [
    {name: "What", cell: (row) => row.name}, {name: "Baseline", cell: (row) => String(row.then)},
    {name: "Now", cell: (row) => String(row.now)}], changes) : note("Nothing changed."));
}

function showChart() {
  const series = [
    {name: "largest error", values: stages.map((stage) => stage.largest_error)},
    {name: "mean error", values: stages.map((stage) => stage.mean_error)},
    {name: "allowed mean", values: stages.map((stage) => stage.mean_allowed)}];
  if (before) series.push({name: "largest, baseline", values: stages.map((stage) => old(stage)?.largest_error ?? null)});
  const atol = stages.find((stage) => stage.atol)?.atol;
  section("Error by stage", lineChart({title: `Error by stage; the largest is ${shown(Math.max(...stages.map((stage) => size(stage.largest_error))))}`,
    labels: stages.map((stage) => (stage.within ? "" : "✘ ") + stage.name), series,
    lines: atol ? [{name: `atol ${short(atol)}`, value: atol}] : []}),
    note("Logarithmic. A stage of a right model adds rounding to what came before; a step up marks where another result is computed. Not drawn: what is 0 or not finite."));
}

function showElements() {
  // Without a limit for each element, there is no share of it to compare with other stages'.
  const comparable = worstOf(stages).filter((element) => element.stage.atol !== null || element.rank === null);
  const elements = place((name) => name === "" ? worstTable(comparable.slice(0, 10)) :
    [errorHistogram(stages.find((stage) => stage.name === name)), worstTable(worstOf(stages.filter((stage) => stage.name === name)))]);
  const all = comparable.length ? [["", stages.every((stage) => stage.atol !== null) ? "all (worst elements)" : "all with a limit (worst elements)"]] : [];
  const select = choice("Stage", [...stages.map((stage) => [stage.name, stage.name]), ...all], (name) => elements.show(name));
  const start = (firstBad ?? stages.at(-1)).name;
  select.querySelector("select").value = start;
  elements.show(start);
  section("Distribution and worst elements", make("div", {className: "row"}, select), elements);
}

function errorHistogram(stage) {
  const {first, zeros, not_finite: endless, steps} = stage.histogram;
  const filled = steps.map((count, i) => count ? i : -1).filter((i) => i >= 0);
  const limit = stage.atol ? 2 * Math.log10(stage.atol) - first : null;
  const from = Math.max(0, Math.floor(Math.min(...filled, limit ?? Infinity)) - 1), to = Math.min(steps.length, Math.max(...filled, limit ?? 0, 0) + 2);
  const counts = steps.slice(from, to);
  const labels = counts.map((_, i) => (first + from + i) % 2 === 0 ? `1e${(first + from + i) / 2}` : "");
  return [make("h3", {text: `Errors of ${stage.name} by size`}),
    histogram({title: `Errors of ${stage.name} by size`, labels, counts,
               line: limit === null ? null : {at: limit - from, name: `atol ${short(stage.atol)}`}}),
    note(`Each bar counts the elements with an error from the power of ten under its left half on, two bars a power; heights are logarithmic. Exactly equal: ${zeros}. Not finite: ${endless}.`)];
}

function worstOf(some) {
  const order = (a, b) => a === b ? 0 : a - b;  // infinities too
  return some.flatMap((stage) => stage.worst.map((element) => ({stage, ...element})))
    .sort((a, b) => order(size(b.rank), size(a.rank)) || order(size(b.error), size(a.error)));
}

function worstTable(elements) {
  const input = (element) => data.inputs[element.input];
  const texts = (element) => make("span", {}, ...input(element).texts.flatMap((text, i) =>
    [i ? " ‖ " : "", make("span", {className: "s" + i, text: text.length > 160 ? text.slice(0, 160) + "…" : text})]));
  const limited = elements.every((element) => element.stage.atol !== null || element.rank === null);
  return table("The ten worst elements, by error" + (limited ? " over what is allowed" : ""), [
    {name: "Stage", cell: (element) => element.stage.name},
    {name: "Input", number: true, cell: (element) => String(element.input)},
    {name: "Token", cell: (element) => element.token === undefined ? "" : make("span", {}, `${element.token} `,
      tokenSpan(input(element).tokens[element.token], input(element).segments[element.token]))},
    {name: "Column", number: true, cell: (element) => String(element.column)},
    {name: "Found", number: true, cell: (element) => short(element.found, 6)},
    {name: "Expected", number: true, cell: (element) => short(element.expected, 6)},
    {name: "Error", number: true, cell: (element) => short(element.error)},
    {name: "× allowed", number: true, cell: (element) => element.stage.atol === null ? "" : short(element.rank)},
    {name: "Text", cell: texts}], elements);
}

function showLabels() {
  const {compared, changed, changes} = data.labels;
  if (!compared) return section("Labels", note("The reference has no logits that stand for labels."));
  section("Labels", make("p", {className: changed ? "bad" : "good", text: changed ? `✘ ${changed} of ${compared} labels changed` : `✔ None of ${compared} labels changed`}),
    changes.length ? table(`The first ${changes.length}`, [
      {name: "Input", cell: (change) => String(change.input)}, {name: "Row", number: true, cell: (change) => String(change.token)},
      {name: "Expected", cell: (change) => change.expected}, {name: "Found", cell: (change) => change.found},
      {name: "Margin in the reference", number: true, cell: (change) => short(change.margin)},
      {name: "Text", cell: (change) => data.inputs[change.input].texts.join(" ‖ ") || data.inputs[change.input].tokens.join(" ")}], changes) : null);
}
