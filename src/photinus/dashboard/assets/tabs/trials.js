// The table of trials with its filters.

import { el, replace, setOptions, theirs } from "/static/dom.js";
import { choice, textInput } from "/static/forms.js";
import { count, many } from "/static/format.js";
import { filtered } from "/static/filters.js";
import { TRIAL_STATES } from "/static/states.js";
import { TrialTable } from "/static/table.js";

export const trialsTab = (data, { filter }) => {
  const table = new TrialTable(data.problem, data.id, { label: "Trials" });
  const search = textInput({
    type: "search",
    placeholder: "Search values, workers, messages",
    "aria-label": "Search trials",
    value: filter.text,
  });
  const worker = choice([["", "Every worker"]], "", { "aria-label": "Worker" });
  const states = el("div", { class: "chips", role: "group", "aria-label": "States" });
  const brushes = el("div", { class: "chips" });
  const total = el("p", { class: "hint", role: "status" });

  const draw = () => {
    const shown = filtered(data.trials, filter);
    table.set(shown);
    const isAll = shown.length === data.trials.length;
    total.textContent = isAll
      ? many(shown.length, "trial")
      : `${count(shown.length)} of ${many(data.trials.length, "trial")}`;
    if (!data.isComplete) total.textContent += ", reading more…";
  };
  const drawStates = () => {
    const counts = data.record.counts;
    replace(
      states,
      TRIAL_STATES.filter((state) => counts[state] || filter.states.has(state)).map((state) => {
        const isOn = filter.states.has(state);
        const toggle = () => {
          if (isOn) filter.states.delete(state);
          else filter.states.add(state);
          update();
          states.querySelector(`[data-state="${state}"]`)?.focus();
        };
        return el(
          "button",
          {
            type: "button",
            class: `chip state-${state}`,
            "aria-pressed": String(isOn),
            data: { state },
            on: { click: toggle },
          },
          el("i", { "aria-hidden": "true" }),
          `${state} ${count(counts[state] ?? 0)}`,
        );
      }),
    );
  };
  const drawWorkers = () => {
    const names = [
      ...new Set(data.trials.map((trial) => trial.worker).filter((name) => name !== null)),
    ].sort();
    const known = JSON.stringify(names);
    if (worker.dataset.known === known) return; // an open list would close
    worker.dataset.known = known;
    setOptions(worker, [["", "Every worker"], ...names.map((name) => [name, name])]);
    worker.value = filter.worker;
  };
  const drawBrushes = () => {
    replace(
      brushes,
      [...filter.brushes].map(([name, { words }]) =>
        el(
          "button",
          { type: "button", class: "chip", on: { click: () => (filter.brushes.delete(name), update()) } },
          theirs(name),
          ` ${words} `,
          el("span", { "aria-label": "take away" }, "✕"),
        ),
      ),
    );
  };
  const update = () => {
    drawStates();
    drawWorkers();
    drawBrushes();
    draw();
  };
  search.addEventListener("input", () => ((filter.text = search.value), draw()));
  worker.addEventListener("change", () => ((filter.worker = worker.value), draw()));
  const node = el(
    "div",
    { class: "stack" },
    el("div", { class: "filters" }, search, worker, states, brushes),
    total,
    table.node,
  );
  return { node, update };
};
