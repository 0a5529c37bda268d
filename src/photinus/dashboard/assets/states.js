// States of trials and studies in words, with a sign beside the colour.

import { el } from "/static/dom.js";
import { count } from "/static/format.js";
import { numAll } from "/static/goals.js";

export const TRIAL_STATES = ["completed", "infeasible", "failed", "active", "stopping", "queued", "expired"];

const MEANINGS = {
  completed: "measured",
  infeasible: "cannot be measured at this point: the point is bad",
  failed: "the measurement broke: says nothing about the point",
  active: "handed out to a worker",
  stopping: "handed out, and its worker is asked to end early",
  queued: "waits to be handed out",
  expired: "its worker went away: will be handed out again",
};

export const badge = (state) =>
  el(
    "span",
    { class: `badge state-${state}`, title: MEANINGS[state] },
    el("i", { "aria-hidden": "true" }),
    state,
  );

export const studyBadge = (record) => {
  const isStopped = record.state === "stopped";
  return el(
    "span",
    {
      class: `badge study-${record.state}`,
      title: isStopped ? "its workers end; one that is started anew resumes it" : "open for workers",
    },
    el("i", { "aria-hidden": "true" }),
    isStopped ? "stopped" : "active",
  );
};

/** Trials by state as one bar, and in words for those who do not see it. */
export const progressBar = (counts) => {
  const total = numAll(counts);
  const parts = TRIAL_STATES.filter((state) => counts[state]);
  const words = parts.map((state) => `${count(counts[state])} ${state}`).join(", ") || "no trial yet";
  const bar = el("span", { class: "progress", role: "img", "aria-label": words, title: words });
  for (const state of parts) {
    const piece = el("i", { class: `state-${state}` });
    piece.style.flexGrow = String(counts[state] / total);
    bar.append(piece);
  }
  return bar;
};

export const rateText = (rate) =>
  rate === null ? "–" : `${rate >= 10 ? Math.round(rate) : Number(rate.toPrecision(2))}/min`;
