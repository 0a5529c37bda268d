// Pictures that need the model, or all that happened: contour, importance, model, timeline.

import { el, replace } from "/static/dom.js";
import { choice } from "/static/forms.js";
import { ServerPlot } from "/static/plotting.js";
import { varying } from "/static/space.js";

const QUIET_MS = 15000; // a picture of the model is made again at most so often

/** Refreshes pictures after the study has changed, but not at every change. */
const refresher = (data, plots) => {
  let seen = data.event;
  let last = Date.now();
  return () => {
    if (data.event === seen || Date.now() - last < QUIET_MS) return;
    [seen, last] = [data.event, Date.now()];
    plots().forEach((plot) => plot.refresh());
  };
};

const objectiveChoice = (data, onChange) => {
  const { metrics } = data.problem;
  if (metrics.length === 1) return { node: null, query: () => ({}) };
  const select = choice(
    metrics.map((metric, i) => [i, metric.name]),
    "0",
    { "aria-label": "Objective" },
  );
  select.addEventListener("change", onChange);
  return {
    node: el("label", { class: "pick" }, "Objective ", select),
    query: () => ({ objective: metrics[Number(select.value)].name }),
  };
};

/** A tab of one picture. */
const single = (kind) => (data) => {
  const plot = new ServerPlot(data.id, kind);
  const objective = objectiveChoice(data, () => plot.set(objective.query()));
  const head = objective.node && kind !== "timeline" ? el("div", { class: "filters" }, objective.node) : null;
  const node = el("div", { class: "stack" }, head, plot.node);
  return { node, update: refresher(data, () => [plot]), close: () => plot.close() };
};

export const importanceTab = single("importance");
export const timelineTab = single("timeline");

/** Two parameters to choose; the two to which the model reacts most sharply to begin with. */
export const contourTab = (data) => {
  const names = varying(data.problem).map((parameter) => parameter.name);
  const options = [["", "automatic"], ...names.map((name, i) => [i, name])];
  const [across, up] = [choice(options, ""), choice(options, "")];
  const plot = new ServerPlot(data.id, "contour");
  const draw = () => {
    const params =
      across.value !== "" && up.value !== "" ? [names[Number(across.value)], names[Number(up.value)]] : [];
    plot.set({ ...objective.query(), params });
  };
  const objective = objectiveChoice(data, draw);
  for (const [changed, other] of [
    [across, up],
    [up, across],
  ]) {
    changed.addEventListener("change", () => {
      // Both or none, and never the same twice.
      if (changed.value === "") other.value = "";
      else if (other.value === "" || other.value === changed.value)
        other.value = String(names.findIndex((_, i) => String(i) !== changed.value));
      draw();
    });
  }
  const label = (text, select) => el("label", { class: "pick" }, text, select);
  const head = el("div", { class: "filters" }, label("Across ", across), label("Up ", up), objective.node);
  return {
    node: el("div", { class: "stack" }, head, plot.node),
    update: refresher(data, () => [plot]),
    close: () => plot.close(),
  };
};

/** The model's view along every parameter, a card each; and how good it was so far. */
export const modelTab = (data) => {
  const names = varying(data.problem).map((parameter) => parameter.name);
  let plots = [];
  const grid = el("div", { class: "grid" });
  const draw = () => {
    plots.forEach((plot) => plot.close());
    const query = objective.query();
    plots = names.map(
      (name) =>
        new ServerPlot(data.id, "model", {
          title: `along ${name}`,
          isBare: true,
          query: { ...query, params: [name] },
        }),
    );
    const calibration = new ServerPlot(data.id, "calibration", { query });
    calibration.node.classList.add("wide");
    plots.push(calibration);
    replace(
      grid,
      plots.map((plot) => plot.node),
    );
  };
  const objective = objectiveChoice(data, draw);
  draw();
  const intro =
    "Lines and bars are the predicted median and the interval into which 9 of 10 measurements should fall, the other " +
    "parameters held at the best trial. Dots are trials, wherever their other parameters were; the star is the best.";
  const node = el(
    "div",
    { class: "stack" },
    objective.node && el("div", { class: "filters" }, objective.node),
    el("p", { class: "lead" }, intro),
    grid,
  );
  return { node, update: refresher(data, () => plots), close: () => plots.forEach((plot) => plot.close()) };
};
