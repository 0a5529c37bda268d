// Why a trial was suggested, in words: the rule, what the model expected, and what it knew nearby.

import { el, svg, theirs } from "/static/dom.js";
import { apart, number } from "/static/format.js";
import { card, facts, plainTable } from "/static/parts.js";
import { trialPath } from "/static/routes.js";

const METHODS = {
  centre: "The centre of the space, to begin with.",
  quasi_random: "A quasi-random point, to cover the space.",
  random: "A random point.",
  ucb: "The highest upper confidence bound: the best that can reasonably be hoped for.",
  log_ei: "The largest expected improvement: how much better than the best so far, times how likely.",
  hypervolume_ucb: "The largest promise to extend the Pareto set.",
  pure_exploration: "Pure exploration: where least is known among what may be good.",
};
const WIDTH = 320;

export const reasonCard = (study, trial) => {
  const { reason } = trial;
  if (!reason) return card("Why this point", el("p", {}, "Nobody suggested it: it was added by hand."));
  const predicted = Object.entries(reason.predicted ?? {});
  const isModel = predicted.length > 0;
  const intent =
    isModel &&
    el(
      "p",
      {},
      el(
        "span",
        { class: `badge intent-${reason.intent}` },
        el("i", { "aria-hidden": "true" }),
        reason.intent === "exploit" ? "exploit" : "explore",
      ),
      el(
        "span",
        { class: "soft" },
        reason.intent === "exploit"
          ? " expected to beat the best so far"
          : " to learn, rather than to win at once",
      ),
    );
  return card(
    "Why this point",
    intent,
    el("p", {}, METHODS[reason.method] ?? theirs(reason.method ?? "Its algorithm gave no reason.")),
    isModel && el("h3", {}, trial.values ? "What the model expected, and what came" : "What the model expects"),
    predicted.map(([name, quantiles]) => interval(name, quantiles, trial.values?.[name])),
    nearestTable(study, reason.nearest ?? []),
    isModel &&
      facts([
        [
          "trust region",
          reason.trust_region?.radius == null
            ? null
            : reason.method === "log_ei"
              ? `about ${number(reason.trust_region.radius)} of a range around the best trial`
              : `at most ${number(reason.trust_region.radius)} of a range away from earlier trials`,
        ],
        ["acquisition", reason.acquisition == null ? null : number(reason.acquisition)],
      ]),
  );
};

/** The 5, 50 and 95 % quantiles as a bar, and the measured value as a mark on the same line. */
const interval = (name, { q05, q50, q95 }, value) => {
  const known = [q05, q50, q95].every((q) => q !== null && q !== undefined);
  const hasCome = value !== undefined && value !== null;
  const texts = apart([value ?? 0, ...(known ? [q05, q50, q95] : [])]);
  const words = known
    ? `median ${texts[2]}, 5 to 95 %: ${texts[1]} to ${texts[3]}`
    : "the model had no finite answer";
  const came = hasCome ? `, came ${texts[0]}` : "";
  const text = el("p", { class: "interval-text" }, theirs(name, { class: "strong" }), ` ${words}${came}`);
  if (!known) return text;
  const all = [q05, q95, ...(came ? [value] : [])];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const place = (q) => 8 + (high === low ? 0.5 : (q / 2 - low / 2) / (high / 2 - low / 2)) * (WIDTH - 16);
  return [
    text,
    svg(
      "svg",
      { class: "interval", viewBox: `0 0 ${WIDTH} 26`, "aria-hidden": "true" },
      svg("line", { class: "grid", x1: 4, x2: WIDTH - 4, y1: 13, y2: 13 }),
      svg("rect", {
        class: "range",
        x: place(q05),
        width: Math.max(place(q95) - place(q05), 2),
        y: 8,
        height: 10,
        rx: 3,
      }),
      svg("line", { class: "median", x1: place(q50), x2: place(q50), y1: 5, y2: 21 }),
      came && svg("path", { class: "came", d: `M${place(value)} 5l6 8l-6 8l-6 -8z` }),
    ),
  ];
};

const nearestTable = (study, nearest) => {
  if (!nearest.length) return null;
  const rows = nearest.map(({ number: n, distance }) => [
    el("a", { href: trialPath(study.id, n) }, `trial ${n}`),
    number(Number(distance.toPrecision(3))),
  ]);
  return [
    el("h3", {}, "Nearest trials at that time"),
    plainTable(["trial", "distance (1 is a whole range)"], rows, "Nearest trials"),
  ];
};
