// Two studies in tables, side by side.

import { el, theirs } from "/static/dom.js";
import { count, number, valueText } from "/static/format.js";
import { bestIn, isMulti, numFinished } from "/static/goals.js";
import { card, plainTable } from "/static/parts.js";
import { studyPath, trialPath } from "/static/routes.js";
import { rangeText, scaleText } from "/static/space.js";
import { studyBadge } from "/static/states.js";

/** What both came to, and what tells them apart; `shared` are the objectives that both have. */
export const sideTables = (a, b, shared) => {
  const both = (cell) => [a, b].map(cell);
  const header = () => [
    el("span", { class: "unseen" }, "what"),
    ...both((data) => el("a", { href: studyPath(data.id) }, theirs(data.record.name))),
  ];
  const goals = (data) => data.problem.metrics.map((metric) => `${metric.goal} ${metric.name}`).join(", ");
  const rows = [
    ["state", ...both((data) => studyBadge(data.record))],
    ...shared.map((metric) => [["best ", theirs(metric.name)], ...both((data) => bestCell(data, metric))]),
    ["finished trials", ...both((data) => count(numFinished(data.record.counts)))],
    ["algorithm", ...both((data) => data.record.algorithm)],
    ["seed", ...both((data) => String(data.record.seed))],
    ["objectives", ...both((data) => theirs(goals(data)))],
  ];
  return [
    card("Side by side", plainTable(header(), rows, "Side by side")),
    card("Parameters, and where the best lies", plainTable(header(), paramRows(a, b), "Parameters")),
  ];
};

const bestCell = (data, metric) => {
  const best = bestIn(data.trials, metric);
  return best
    ? [
        el("b", {}, number(best.values[metric.name])),
        " in ",
        el("a", { href: trialPath(data.id, best.number) }, `trial ${best.number}`),
      ]
    : "–";
};

/** One row per parameter of either study: the best trial's value, and the range where they differ. */
const paramRows = (a, b) => {
  const spaces = [a, b].map(
    (data) => new Map(data.problem.space.parameters.map((parameter) => [parameter.name, parameter])),
  );
  const names = [...new Set([...spaces[0].keys(), ...spaces[1].keys()])];
  const bests = [a, b].map((data) =>
    isMulti(data.problem) ? null : bestIn(data.trials, data.problem.metrics[0]),
  );
  return names.map((name) => {
    const ranges = spaces.map((space) => (space.has(name) ? rangeWords(space.get(name)) : "not a parameter"));
    const isSame = ranges[0] === ranges[1];
    const cell = (i) => [
      bests[i] && spaces[i].has(name) ? el("b", {}, theirs(valueText(bests[i].params[name]))) : "–",
      (!isSame || i === 0) && el("small", {}, theirs(ranges[i])),
    ];
    return [[theirs(name), !isSame && el("small", { class: "differs" }, "differs")], cell(0), cell(1)];
  });
};

const rangeWords = (parameter) => {
  const scale = scaleText(parameter);
  return `${parameter.type}, ${rangeText(parameter)}${scale && scale !== "linear" ? `, ${scale} scale` : ""}`;
};
