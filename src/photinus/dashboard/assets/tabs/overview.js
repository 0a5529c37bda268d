// How the search went, what is best, and what the study is.

import { Chart } from "/static/chart.js";
import { el, keepFocus, replace, theirs } from "/static/dom.js";
import { choice } from "/static/forms.js";
import { count, goalWords, localTime, number } from "/static/format.js";
import { bestIn, completed, improvements, isMulti, thinned } from "/static/goals.js";
import { card, emptyState, facts, noteFacts, paramFacts, plainTable, valueFacts } from "/static/parts.js";
import { navigate, trialPath } from "/static/routes.js";
import { rangeText, scaleText } from "/static/space.js";
import { trialTip } from "/static/tooltip.js";

const MAX_DOTS = 1500;
const MAX_FRONT = 8; // rows of the Pareto set

export const historyOptions = (data, metric) => {
  const { trials, id } = data;
  const steps = improvements(trials, metric);
  const drawn = thinned(completed(trials), MAX_DOTS, new Set(steps.map((trial) => trial.number)));
  const tip = (trial) => ({ tip: () => trialTip(trial), open: () => navigate(trialPath(id, trial.number)) });
  const point = (trial) => ({ x: trial.number, y: trial.values[metric.name], ...tip(trial) });
  const last = trials.at(-1)?.number ?? 0;
  const line = steps.map((trial) => ({ x: trial.number, y: trial.values[metric.name] }));
  if (line.length) line.push({ x: last, y: line.at(-1).y });
  const lost = thinned(
    trials.filter((trial) => trial.state === "infeasible" || trial.state === "failed"),
    300,
  );
  const best = steps.at(-1);
  return {
    xLabel: "trial",
    yLabel: metric.name,
    isWholeX: true,
    label: `History of ${metric.name}: ${count(drawn.length)} trials, best ${
      best ? number(best.values[metric.name]) : "unknown"
    }. Arrow keys go from trial to trial.`,
    series: [
      { kind: "dots", style: "quiet", points: drawn.map(point) },
      { kind: "line", style: "best", isStep: true, points: line },
      {
        kind: "dots",
        style: "best",
        points: steps.map((trial) => ({ ...point(trial), isBig: trial === best })),
      },
      ...["infeasible", "failed"].map((state) => ({
        kind: "edge",
        style: state,
        points: lost
          .filter((trial) => trial.state === state)
          .map((trial) => ({ x: trial.number, ...tip(trial) })),
      })),
    ],
  };
};

export const overviewTab = (data) => {
  const { metrics } = data.problem;
  const chart = new Chart({ label: "History", height: 320 });
  const select = choice(
    metrics.map((metric, i) => [i, metric.name]),
    "0",
    { "aria-label": "Objective" },
  );
  const place = el("div");
  const legend = el("p", { class: "legend" });
  const history = el(
    "section",
    { class: "card wide" },
    el("div", { class: "card-head" }, el("h2", {}, "How the search went"), metrics.length > 1 && select),
    place,
    legend,
  );
  const best = el("section", { class: "card" });
  const study = el("section", { class: "card" });
  const space = card("Search space", spaceTable(data.problem));
  space.classList.add("wide");
  const drawHistory = () => {
    const metric = metrics[Number(select.value)];
    if (!data.trials.length) {
      if (data.isComplete)
        replace(
          place,
          emptyState("No trial yet", "Attach a worker, or add a trial by hand: the page fills by itself."),
        );
      return;
    }
    if (!chart.node.isConnected) replace(place, chart.node);
    chart.set(historyOptions(data, metric));
    replace(
      legend,
      key("quiet", "trial"),
      key("best", "best so far"),
      key("infeasible", "infeasible", true),
      key("failed", "failed", true),
      el("span", {}, goalWords(metric)),
    );
  };
  select.addEventListener("change", drawHistory);
  const update = () => {
    drawHistory();
    keepFocus(best, () => replace(best, isMulti(data.problem) ? frontCard(data) : bestCard(data)));
    replace(study, studyFacts(data.record));
  };
  return { node: el("div", { class: "grid" }, history, best, study, space), update };
};

export const key = (style, text, isCross = false) =>
  el(
    "span",
    { class: `key ${style}` },
    el("i", { class: isCross ? "cross" : null, "aria-hidden": "true" }),
    theirs(text),
  );

const bestCard = (data) => {
  const best = bestIn(data.trials, data.problem.metrics[0]);
  if (!best) return [el("h2", {}, "Best trial"), el("p", { class: "empty" }, "No trial is completed yet.")];
  return [
    el("h2", {}, "Best trial: ", el("a", { href: trialPath(data.id, best.number) }, `number ${best.number}`)),
    valueFacts(best.values),
    el("h3", {}, "at"),
    paramFacts(best.params),
  ];
};

const frontCard = (data) => {
  const { metrics } = data.problem;
  const front = data.best;
  if (!front.length)
    return [el("h2", {}, "Pareto set"), el("p", { class: "empty" }, "No trial is completed yet.")];
  const rows = thinned(front, MAX_FRONT).map((trial) => [
    el("a", { href: trialPath(data.id, trial.number) }, String(trial.number)),
    ...metrics.map((metric) => number(trial.values[metric.name])),
  ]);
  const more =
    front.length > rows.length
      ? `${rows.length} of ${count(front.length)}; all of them are under Pareto.`
      : "";
  return [
    el("h2", {}, "Pareto set"),
    plainTable(["trial", ...metrics.map((metric) => theirs(metric.name))], rows, "Pareto set"),
    more && el("p", { class: "hint" }, more),
  ];
};

const studyFacts = (record) => [
  el("h2", {}, "The study"),
  facts([
    ["project", theirs(record.project)],
    [
      "objectives",
      record.problem.metrics.map((metric, i) => [i > 0 && ", ", `${metric.goal} `, theirs(metric.name)]),
    ],
    ["algorithm", record.algorithm],
    ["seed", String(record.seed)],
    ["created", localTime(record.created_at)],
    ["last change", localTime(record.last_change_at)],
    ["number on this server", String(record.id)],
    ...noteFacts(record.metadata),
  ]),
];

const spaceTable = (problem) =>
  plainTable(
    ["parameter", "type", "range", "scale"],
    problem.space.parameters.map((parameter) => [
      theirs(parameter.name),
      parameter.type,
      theirs(rangeText(parameter)),
      scaleText(parameter) || "–",
    ]),
    "Search space",
  );
