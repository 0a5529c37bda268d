// All parameters at once; what is brushed filters the table below, and the table of all trials.

import { brushWords } from "/static/brush.js";
import { el, replace } from "/static/dom.js";
import { choice } from "/static/forms.js";
import { count } from "/static/format.js";
import { filtered } from "/static/filters.js";
import { completed, costOf } from "/static/goals.js";
import { ParallelPlot } from "/static/parallel.js";
import { objectiveAxis, parameterAxis, varying } from "/static/space.js";
import { TrialTable } from "/static/table.js";
import { onTheme } from "/static/theme.js";

const MAX_AXES = 16;

const axesOf = (data, parameters) => [
  ...parameters.map((parameter) => {
    const axis = parameterAxis(parameter);
    return { ...axis, place: (trial) => axis.place(trial.params[parameter.name]) };
  }),
  ...data.problem.metrics.map((metric) => {
    const axis = objectiveAxis(metric, completed(data.trials));
    return { ...axis, place: (trial) => (trial.values ? axis.place(trial.values[metric.name]) : null) };
  }),
];

/** Shares of trials by rank in one objective, 1 being best. */
const sharesOf = (trials, metric) => {
  const ranked = [...trials].sort((a, b) => costOf(b, metric) - costOf(a, metric));
  return new Map(ranked.map((trial, i) => [trial.number, ranked.length === 1 ? 1 : i / (ranked.length - 1)]));
};

export const parallelTab = (data, { filter }) => {
  const { metrics } = data.problem;
  const free = varying(data.problem);
  const parameters = (free.length ? free : data.problem.space.parameters).slice(0, MAX_AXES);
  const table = new TrialTable(data.problem, data.id, {
    label: "Trials that fit the brushes",
    sort: metrics[0].name,
    isDescending: false,
    height: "420px",
  });
  const objective = choice(
    metrics.map((metric, i) => [i, metric.name]),
    "0",
    { "aria-label": "Colour by" },
  );
  const clear = el("button", { type: "button", on: { click: () => clearAll() } }, "Clear brushes");
  const total = el("p", { class: "hint", role: "status" });
  const place = el("div");
  const stop = new AbortController();
  let axes = [];
  let scaleKey = "";

  const plot = new ParallelPlot((axis, range) => {
    if (range === null) filter.brushes.delete(axis.name);
    else
      filter.brushes.set(axis.name, {
        place: axis.place,
        low: range[0],
        high: range[1],
        words: brushWords(axis, range),
      });
    drawTrials();
  });
  const clearAll = () => {
    filter.brushes.clear();
    plot.clear();
    drawTrials();
  };
  const drawTrials = () => {
    const all = completed(data.trials);
    const chosen = filtered(all, { ...filter, states: new Set(), worker: "", text: "" });
    plot.set(
      all,
      new Set(chosen.map((trial) => trial.number)),
      sharesOf(all, metrics[Number(objective.value)]),
    );
    table.set(chosen);
    clear.disabled = filter.brushes.size === 0;
    total.textContent = `${count(chosen.length)} of ${count(all.length)} completed trials fit the brushes.`;
  };
  const update = () => {
    const all = completed(data.trials);
    if (!all.length) {
      replace(place, el("p", { class: "card empty" }, "No trial is completed yet."));
      return;
    }
    if (!plot.node.isConnected) replace(place, body);
    const made = axesOf(data, parameters);
    // Objectives have new ends when a better or worse value comes; brushes stay where they are on the picture.
    const key = JSON.stringify(made.slice(parameters.length).map((axis) => axis.ticks));
    if (key !== scaleKey) {
      [axes, scaleKey] = [made, key];
      for (const axis of axes) {
        const brush = filter.brushes.get(axis.name);
        if (!brush) continue;
        brush.place = axis.place;
        brush.words = brushWords(axis, [brush.low, brush.high]);
      }
      plot.setAxes(
        axes,
        [...filter.brushes].map(([name, { low, high }]) => [name, [low, high]]),
      );
    }
    drawTrials();
  };
  objective.addEventListener("change", () => drawTrials());
  onTheme(() => plot.paint(), stop.signal);
  const hidden = free.length - parameters.length;
  const caption =
    `One line a trial; the brighter, the better. Drag along an axis to choose a range, ` +
    "click it to let go; handles move by the arrow keys." +
    (hidden > 0 ? ` ${hidden} more parameters are not drawn.` : "");
  const body = [
    el(
      "section",
      { class: "card" },
      el(
        "div",
        { class: "card-head" },
        el("h2", {}, "All parameters at once"),
        el("div", { class: "actions" }, metrics.length > 1 && objective, clear),
      ),
      plot.node,
      el("p", { class: "hint" }, caption),
    ),
    total,
    table.node,
  ];
  place.className = "stack";
  return { node: place, update, close: () => stop.abort() };
};
