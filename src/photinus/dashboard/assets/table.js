// The table of trials: any number of rows, of which only those in view are in the page.

import { el, newId, replace, theirs } from "/static/dom.js";
import { duration, durationOf, localTime, number, valueText } from "/static/format.js";
import { costOf } from "/static/goals.js";
import { trialPath } from "/static/routes.js";
import { badge } from "/static/states.js";

const ROW = 38; // pixels, as in the style sheet
const SPARE = 8; // rows above and below what is in view
const MAX_TEXT = 60;

const cut = (text) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text);

const compareValues = (a, b) => {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1; // whatever is missing comes last
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
};

/** Columns of a problem's trials: a heading, what is sorted by, and the cell. */
const columnsOf = (problem, studyId) => [
  {
    name: "Trial",
    key: (t) => t.number,
    cell: (t) => el("a", { href: trialPath(studyId, t.number) }, String(t.number)),
  },
  {
    name: "State",
    key: (t) => t.state,
    cell: (t) => [badge(t.state), t.message && el("small", { title: t.message }, theirs(cut(t.message)))],
  },
  ...problem.metrics.map((metric) => ({
    name: metric.name,
    isTheirs: true,
    isNumber: true,
    // The best first, whichever way is better.
    key: (t) => (t.values ? costOf(t, metric) : null),
    cell: (t) =>
      t.values ? el("b", { title: String(t.values[metric.name]) }, number(t.values[metric.name])) : "–",
  })),
  ...problem.space.parameters.map((parameter) => ({
    name: parameter.name,
    isTheirs: true,
    isNumber: parameter.type !== "categorical",
    key: (t) => t.params[parameter.name],
    cell: (t) =>
      theirs(cut(valueText(t.params[parameter.name])), { title: String(t.params[parameter.name]) }),
  })),
  {
    name: "Worker",
    key: (t) => t.worker,
    cell: (t) => (t.worker === null ? "–" : theirs(cut(t.worker), { title: t.worker })),
  },
  { name: "Started", key: (t) => t.started_at, cell: (t) => localTime(t.started_at) },
  { name: "Took", isNumber: true, key: durationOf, cell: (t) => duration(durationOf(t)) },
];

export class TrialTable {
  #trials = [];
  #sorted = [];
  #sort;
  #columns;
  #heads = [];
  #body = el("tbody");
  #frame = 0;

  constructor(
    problem,
    studyId,
    { label = "Trials", sort = "Trial", isDescending = true, height = "min(70vh, 640px)" } = {},
  ) {
    this.#columns = columnsOf(problem, studyId);
    this.#sort = {
      column: this.#columns.find((column) => column.name === sort) ?? this.#columns[0],
      isDescending,
    };
    this.table = el(
      "table",
      { class: "trials" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          this.#columns.map((column) => this.#head(column)),
        ),
      ),
      this.#body,
    );
    this.node = el(
      "div",
      { class: "table virtual", tabindex: 0, role: "region", "aria-label": label, id: newId("trials") },
      this.table,
    );
    this.node.style.maxHeight = height;
    this.node.addEventListener("scroll", () => this.#later(), { passive: true });
    new ResizeObserver(() => this.#later()).observe(this.node);
    this.#markSort();
  }

  set(trials) {
    this.#trials = trials;
    this.#sortRows();
    this.#later();
  }

  #head(column) {
    const button = el(
      "button",
      { type: "button", class: "sort", on: { click: () => this.#sortBy(column) } },
      column.isTheirs ? theirs(cut(column.name), { title: column.name }) : column.name,
    );
    const head = el("th", { scope: "col", class: column.isNumber ? "number" : null }, button);
    this.#heads.push(head);
    return head;
  }

  #sortBy(column) {
    const isSame = this.#sort.column === column;
    this.#sort = { column, isDescending: isSame ? !this.#sort.isDescending : false };
    this.#markSort();
    this.#sortRows();
    this.node.scrollTop = 0;
    this.#later();
  }

  #markSort() {
    this.#columns.forEach((column, i) => {
      const isSorted = column === this.#sort.column;
      if (isSorted)
        this.#heads[i].setAttribute("aria-sort", this.#sort.isDescending ? "descending" : "ascending");
      else this.#heads[i].removeAttribute("aria-sort");
    });
  }

  #sortRows() {
    const { column, isDescending } = this.#sort;
    const keyed = this.#trials.map((trial) => [column.key(trial), trial]);
    const isMissing = (key) => key === null || key === undefined;
    keyed.sort(([a, t], [b, u]) => {
      if (isMissing(a) || isMissing(b)) return compareValues(a, b) || t.number - u.number;
      return (isDescending ? compareValues(b, a) : compareValues(a, b)) || t.number - u.number;
    });
    this.#sorted = keyed.map(([, trial]) => trial);
    this.table.setAttribute("aria-rowcount", this.#sorted.length + 1);
  }

  #later() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  /** Rows in view between two empty ones that are as high as all that is not drawn. */
  #draw() {
    const total = this.#sorted.length;
    const first = Math.max(0, Math.min(total, Math.floor(this.node.scrollTop / ROW) - SPARE));
    const last = Math.min(total, Math.ceil((this.node.scrollTop + this.node.clientHeight) / ROW) + SPARE);
    const focused = document.activeElement?.closest?.("tr")?.dataset.number;
    const spacer = (rows) => {
      const row = el(
        "tr",
        { class: "spacer", "aria-hidden": "true" },
        el("td", { colspan: this.#columns.length }),
      );
      row.style.height = `${rows * ROW}px`;
      return row;
    };
    replace(
      this.#body,
      first > 0 && spacer(first),
      this.#sorted.slice(first, last).map((trial, i) => this.#row(trial, first + i)),
      last < total && spacer(total - last),
      total === 0 &&
        el("tr", {}, el("td", { colspan: this.#columns.length, class: "nothing" }, "No trial fits.")),
    );
    if (focused !== undefined)
      this.#body.querySelector(`tr[data-number="${focused}"] a`)?.focus({ preventScroll: true });
  }

  #row(trial, index) {
    return el(
      "tr",
      { "aria-rowindex": index + 2, data: { number: trial.number } },
      this.#columns.map((column) =>
        el("td", { class: column.isNumber ? "number" : null }, column.cell(trial)),
      ),
    );
  }
}
