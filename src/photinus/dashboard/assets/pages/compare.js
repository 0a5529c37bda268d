// Two studies side by side: how they went, where they got to, and what tells them apart.

import { Chart } from "/static/chart.js";
import { StudyData } from "/static/data.js";
import { el, replace, theirs } from "/static/dom.js";
import { choice } from "/static/forms.js";
import { goalWords } from "/static/format.js";
import { completed, improvements } from "/static/goals.js";
import { crumbs, emptyState } from "/static/parts.js";
import { studyPicker } from "/static/picker.js";
import { navigate, setQuery, trialPath } from "/static/routes.js";
import { sideTables } from "/static/sides.js";
import { trialTip } from "/static/tooltip.js";
import { key } from "/static/tabs/overview.js";

const STYLES = ["best", "model dashed"];

export const openPage = (main, { query }) => new ComparePage(main, query);

class ComparePage {
  #sides;
  #body = el("div", { class: "stack" });
  #chart = new Chart({ label: "Best so far", height: 340 });
  #objective = choice([], undefined, { "aria-label": "Objective" });

  constructor(main, query) {
    document.title = "Compare · Photinus";
    const ids = (query.get("ids") ?? "")
      .split(",")
      .map(Number)
      .filter((id) => Number.isInteger(id) && id > 0);
    this.#sides = [0, 1].map((i) => ({
      data: null,
      error: null,
      picker: studyPicker(["First study", "Second study"][i], (id) => this.#pick(i, id)),
    }));
    main.append(
      crumbs(["/", "Studies"]),
      el("h1", {}, "Compare two studies"),
      el(
        "div",
        { class: "filters pickers" },
        this.#sides.map((side) => side.picker.node),
      ),
      this.#body,
    );
    this.#objective.addEventListener("change", () => this.#drawChart());
    ids.slice(0, 2).forEach((id, i) => this.#open(i, id));
    this.#draw();
  }

  close() {
    this.#sides.forEach((side) => side.data?.stop());
  }

  #pick(i, id) {
    this.#open(i, id);
    setQuery({
      ids: this.#sides
        .map((side) => side.data?.id)
        .filter(Boolean)
        .join(","),
    });
    this.#draw();
  }

  #open(i, id) {
    const side = this.#sides[i];
    side.data?.stop();
    side.error = null;
    side.data = new StudyData(id);
    side.data.addEventListener("change", () => this.#draw());
    side.data.addEventListener("refused", ({ detail }) => {
      side.error = detail.message;
      this.#draw();
    });
    side.data.start();
  }

  get #shared() {
    const [a, b] = this.#sides.map((side) => side.data.problem.metrics);
    return a.filter((metric) => b.some((other) => other.name === metric.name && other.goal === metric.goal));
  }

  #draw() {
    this.#sides.forEach((side) => side.data?.record && side.picker.show(side.data.record.name));
    const failed = this.#sides.find((side) => side.error);
    if (failed) return replace(this.#body, emptyState("A study cannot be shown", failed.error));
    if (this.#sides.some((side) => !side.data))
      return replace(
        this.#body,
        emptyState(
          "Choose two studies",
          "Begin to type a name in each field above, or tick two studies in the list.",
        ),
      );
    if (this.#sides.some((side) => !side.data.record)) return undefined;
    const names = this.#shared.map((metric) => metric.name);
    if (this.#objective.dataset.names !== JSON.stringify(names)) {
      this.#objective.dataset.names = JSON.stringify(names);
      replace(
        this.#objective,
        names.map((name, i) => el("option", { value: i }, name)),
      );
      this.#frame();
    }
    this.#drawChart();
    this.#drawTables();
    return undefined;
  }

  #frame() {
    const shared = this.#shared;
    this.legend = el("p", { class: "legend" });
    this.tables = el("div", { class: "stack" });
    const chart = shared.length
      ? el(
          "section",
          { class: "card" },
          el(
            "div",
            { class: "card-head" },
            el("h2", {}, "Best so far"),
            shared.length > 1 && this.#objective,
          ),
          this.#chart.node,
          this.legend,
        )
      : emptyState(
          "No objective in common",
          "The two studies measure different things, so there is no common curve.",
        );
    replace(this.#body, chart, this.tables);
  }

  #drawChart() {
    const metric = this.#shared[Number(this.#objective.value)];
    if (!metric) return;
    const series = this.#sides.flatMap(({ data }, i) => {
      const steps = improvements(data.trials, metric);
      const total = completed(data.trials).length;
      // By completed trials rather than by numbers: what failed in one study does not count in the other.
      const order = new Map(completed(data.trials).map((trial, n) => [trial.number, n + 1]));
      const points = steps.map((trial) => ({
        x: order.get(trial.number),
        y: trial.values[metric.name],
        tip: () => [el("p", {}, theirs(data.record.name)), trialTip(trial)],
        open: () => navigate(trialPath(data.id, trial.number)),
      }));
      const line = points.length ? [...points, { x: total, y: points.at(-1).y }] : [];
      return [
        { kind: "line", style: STYLES[i], isStep: true, points: line },
        { kind: "dots", style: STYLES[i].split(" ")[0], points },
      ];
    });
    this.#chart.set({
      series,
      xLabel: "completed trials",
      yLabel: metric.name,
      isWholeX: true,
      label: `Best ${metric.name} so far in both studies. Arrow keys go from step to step.`,
    });
    replace(
      this.legend,
      this.#sides.map(({ data }, i) => key(STYLES[i], data.record.name)),
      el("span", {}, goalWords(metric)),
    );
  }

  #drawTables() {
    const [a, b] = this.#sides.map((side) => side.data);
    const seen = JSON.stringify([
      a.event,
      b.event,
      a.record.state,
      b.record.state,
      a.trials.length,
      b.trials.length,
    ]);
    if (this.tables.dataset.seen === seen) return;
    this.tables.dataset.seen = seen;
    replace(this.tables, sideTables(a, b, this.#shared));
  }
}
