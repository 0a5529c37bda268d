// A study as a row of the list.

import { el, theirs } from "/static/dom.js";
import { ago, count, number } from "/static/format.js";
import { isMulti, numAll, numFinished } from "/static/goals.js";
import { studyPath } from "/static/routes.js";
import { progressBar, rateText, studyBadge } from "/static/states.js";

export const COLUMNS = ["Study", "State", "Progress", "Best", "Workers", "Rate", "Last change"];

/** Cells by column; on a phone, where there is no head, they carry its words. */
export const studyCells = (record, rate) => {
  const finished = numFinished(record.counts);
  const others = numAll(record.counts) - finished;
  const total = `${count(finished)} finished${others ? `, ${count(others)} open` : ""}`;
  const cells = [
    studyBadge(record),
    el("span", { class: "meter" }, progressBar(record.counts), el("small", {}, total)),
    bestText(record),
    record.num_workers ? el("b", { class: "alive" }, count(record.num_workers)) : "–",
    rateText(rate),
    ago(record.last_change_at),
  ];
  return [
    el(
      "th",
      { scope: "row" },
      el("a", { href: studyPath(record.id) }, theirs(record.name)),
      el("small", {}, describe(record)),
    ),
    ...cells.map((cell, i) => el("td", { data: { label: COLUMNS[i + 1] } }, cell)),
  ];
};

const describe = (record) => [
  record.project !== "default" && [theirs(record.project), " · "],
  record.problem.metrics.map((metric, i) => [i > 0 && ", ", `${metric.goal} `, theirs(metric.name)]),
  ` · ${record.algorithm}`,
];

const bestText = (record) => {
  if (isMulti(record.problem))
    return record.pareto_size ? `${count(record.pareto_size)} in the Pareto set` : "–";
  if (!record.best) return "–";
  const value = Object.values(record.best.values)[0];
  return el("b", { title: String(value) }, number(value));
};
