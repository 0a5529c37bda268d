// Values against each parameter, a card each.

import { Chart } from "/static/chart.js";
import { el, replace, theirs } from "/static/dom.js";
import { choice } from "/static/forms.js";
import { count, goalWords } from "/static/format.js";
import { completed, costOf, thinned } from "/static/goals.js";
import { navigate, trialPath } from "/static/routes.js";
import { parameterAxis, varying } from "/static/space.js";
import { trialTip } from "/static/tooltip.js";

const MAX_DOTS = 400; // in each card
const NUM_BEST = 20; // that are drawn in any case
const FIRST_CARDS = 12;

export const slicesTab = (data) => {
  const { metrics } = data.problem;
  const parameters = varying(data.problem);
  const objective = choice(
    metrics.map((metric, i) => [i, metric.name]),
    "0",
  );
  const caption = el("p", { class: "lead" });
  const place = el("div", { class: "grid small" });
  let numCards = Math.min(parameters.length, FIRST_CARDS);
  const cards = parameters.map((parameter) => {
    const chart = new Chart({ label: parameter.name, height: 240 });
    return {
      parameter,
      axis: parameterAxis(parameter),
      chart,
      node: el("section", { class: "card" }, el("h2", {}, theirs(parameter.name)), chart.node),
    };
  });
  const more = el("button", {
    type: "button",
    on: { click: () => ((numCards = parameters.length), update()) },
  });

  const update = () => {
    const metric = metrics[Number(objective.value)];
    const all = completed(data.trials);
    if (!all.length)
      return replace(place, el("p", { class: "card empty wide" }, "No trial is completed yet."));
    const ranked = [...all].sort((a, b) => costOf(a, metric) - costOf(b, metric));
    const drawn = thinned(all, MAX_DOTS, new Set(ranked.slice(0, NUM_BEST).map((trial) => trial.number)));
    cards.slice(0, numCards).forEach((card) => drawCard(data.id, card, metric, drawn, ranked[0]));
    const nodes = cards.slice(0, numCards).map((card) => card.node);
    if (place.childElementCount !== nodes.length) replace(place, nodes);
    more.hidden = numCards === parameters.length;
    more.textContent = `Show ${parameters.length - numCards} more`;
    caption.textContent =
      `${metric.name} against one parameter at a time, wherever the others were; ${goalWords(metric)}. ` +
      "Later trials are stronger, the large dot is the best.";
    if (drawn.length < all.length)
      caption.textContent += ` ${count(drawn.length)} of ${count(all.length)} trials are drawn, the best among them.`;
    return undefined;
  };
  objective.addEventListener("change", update);
  const picker =
    metrics.length > 1 &&
    el("div", { class: "filters" }, el("label", { class: "pick" }, "Objective ", objective));
  return { node: el("div", { class: "stack" }, picker || null, caption, place, el("p", {}, more)), update };
};

const drawCard = (studyId, { parameter, axis, chart }, metric, drawn, best) => {
  const last = drawn.at(-1).number || 1;
  const point = (trial) => ({
    x: trial.params[parameter.name],
    y: trial.values[metric.name],
    opacity: 0.25 + 0.65 * (trial.number / last),
    tip: () => trialTip(trial),
    open: () => navigate(trialPath(studyId, trial.number)),
  });
  chart.set({
    xLabel: "",
    yLabel: metric.name,
    xAxis: axis,
    label: `${metric.name} against ${parameter.name}. Arrow keys go from trial to trial.`,
    series: [
      { kind: "dots", style: "model", points: drawn.map(point) },
      { kind: "dots", style: "best", points: [{ ...point(best), isBig: true, opacity: 1 }] },
    ],
  });
};
