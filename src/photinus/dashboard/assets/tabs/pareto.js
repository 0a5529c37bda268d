// Trade-offs: two objectives as a chart, three as a cloud that turns, more by choosing among them.

import { Chart } from "/static/chart.js";
import { Cloud } from "/static/cloud.js";
import { el, replace } from "/static/dom.js";
import { choice } from "/static/forms.js";
import { count, goalWords } from "/static/format.js";
import { completed, thinned } from "/static/goals.js";
import { navigate, trialPath } from "/static/routes.js";
import { objectiveAxis } from "/static/space.js";
import { TrialTable } from "/static/table.js";
import { onTheme } from "/static/theme.js";
import { trialTip } from "/static/tooltip.js";
import { key } from "/static/tabs/overview.js";

const MAX_DOTS = 1500;
const AXES = ["Across", "Up", "Third"];

export const paretoTab = (data) => {
  const { metrics } = data.problem;
  const open = (trial) => navigate(trialPath(data.id, trial.number));
  const selects = metrics.slice(0, 3).map((_, k) => {
    const options = metrics.map((metric, i) => [i, metric.name]);
    return choice(k === 2 ? [["", "none"], ...options] : options, String(k), {
      "aria-label": AXES[k],
    });
  });
  const chart = new Chart({ label: "Pareto set", height: 420 });
  const cloud = new Cloud(open);
  const place = el("div");
  const caption = el("p", { class: "hint" });
  const table = new TrialTable(data.problem, data.id, {
    label: "Pareto set",
    sort: metrics[0].name,
    isDescending: false,
    height: "360px",
  });
  const stop = new AbortController();

  const chosen = () =>
    [...new Set(selects.map((select) => select.value).filter((value) => value !== ""))].map(
      (value) => metrics[Number(value)],
    );
  const update = () => {
    const all = completed(data.trials);
    const front = new Set(data.best.map((trial) => trial.number));
    const drawn = thinned(all, MAX_DOTS, front);
    const axes = chosen();
    table.set(data.best);
    const together = metrics.length === 2 ? "both objectives" : `all ${metrics.length} objectives`;
    const ways = axes.map((metric) => `${metric.name}: ${goalWords(metric)}`).join("; ");
    caption.textContent =
      `${count(front.size)} of ${count(all.length)} completed trials are beaten by no other in ${together} ` +
      `together. ${ways}.`;
    if (!all.length) replace(place, el("p", { class: "empty" }, "No trial is completed yet."));
    else if (axes.length === 3) drawCloud(drawn, front, axes);
    else
      drawPlane(
        drawn,
        front,
        axes.length === 2 ? axes : [axes[0], metrics.find((metric) => metric !== axes[0])],
      );
  };
  const drawCloud = (drawn, front, axes) => {
    if (!cloud.node.isConnected) replace(place, cloud.node);
    const scales = axes.map((metric) => objectiveAxis(metric, drawn));
    const at = (trial) => axes.map((metric, k) => scales[k].place(trial.values[metric.name]));
    cloud.set(
      drawn.map((trial) => ({ at: at(trial), trial, isFront: front.has(trial.number) })),
      scales.map((scale) => ({ name: scale.name, low: scale.read(0), high: scale.read(1) })),
    );
  };
  const drawPlane = (drawn, front, [across, up]) => {
    if (!chart.node.isConnected) replace(place, chart.node);
    const point = (trial) => ({
      x: trial.values[across.name],
      y: trial.values[up.name],
      tip: () => trialTip(trial),
      open: () => open(trial),
    });
    const best = drawn
      .filter((trial) => front.has(trial.number))
      .sort((a, b) => a.values[across.name] - b.values[across.name]);
    // Between two of its points nothing better than the worse of both is known: the front is a staircase.
    const line =
      metrics.length === 2
        ? [{ kind: "line", style: "best thin", points: staircase(best.map(point), across) }]
        : [];
    chart.set({
      xLabel: across.name,
      yLabel: up.name,
      label:
        `${count(drawn.length)} trials by ${across.name} and ${up.name}, ${count(best.length)} in the Pareto set. ` +
        "Arrow keys go from trial to trial.",
      series: [
        {
          kind: "dots",
          style: "quiet",
          points: drawn.filter((trial) => !front.has(trial.number)).map(point),
        },
        ...line,
        { kind: "dots", style: "best", points: best.map((trial) => ({ ...point(trial), isBig: true })) },
      ],
    });
  };
  selects.forEach((select) => select.addEventListener("change", update));
  onTheme(() => cloud.draw(), stop.signal);
  const labelled = selects.map((select, k) => el("label", { class: "pick" }, `${AXES[k]} `, select));
  const pickers = metrics.length > 2 ? el("div", { class: "filters" }, labelled) : null;
  const legend = el(
    "p",
    { class: "legend" },
    key("best", "Pareto set"),
    key("quiet", "other trials"),
    metrics.length > 2 && el("span", {}, "drag or use the arrow keys to turn"),
  );
  const node = el(
    "div",
    { class: "stack" },
    pickers,
    el("section", { class: "card" }, el("h2", {}, "Trade-offs"), place, legend, caption),
    el("h2", { class: "between" }, "The Pareto set"),
    table.node,
  );
  return { node, update, close: () => stop.abort() };
};

const staircase = (points, across) =>
  points.flatMap((point, i) => {
    const next = points[i + 1];
    if (!next) return [point];
    return [point, across.goal === "minimize" ? { x: next.x, y: point.y } : { x: point.x, y: next.y }];
  });
