// All studies, the newest first. Rows are read in pieces as they are scrolled to; those in view are kept up to date.

import { api, serverNow } from "/static/api.js";
import { el, keepFocus, replace } from "/static/dom.js";
import { choice, textInput } from "/static/forms.js";
import { rateOf } from "/static/goals.js";
import { Poller } from "/static/live.js";
import { emptyState, loadingState } from "/static/parts.js";
import { navigate, setQuery } from "/static/routes.js";
import { session } from "/static/session.js";
import { COLUMNS, studyCells } from "/static/study_row.js";

const PIECE = 50;
const LATELY_MS = 300000;
const RATE_TRIALS = 40; // finished last, from which a rate is told

const halfMinute = () => Math.floor(serverNow() / 30000);

export const openPage = (main, { query }) => new StudyList(main, query);

class StudyList {
  #rows = new Map(); // by id: { node, record, rate, rateOf }
  #visible = new Set();
  #chosen = new Set();
  #hasMore = true;
  #hasRead = false;
  #isReading = false;
  #body = el("tbody");
  #table;
  #place = el("div");
  #tools = el("div", { class: "filters", role: "search" });
  #compare = el("button", { type: "button", disabled: true });
  #poller = new Poller((signal) => this.#refresh(signal), {
    onRefused: (error) => replace(this.#place, emptyState("The studies cannot be shown", error.message)),
  });
  #watcher = new IntersectionObserver((entries) => entries.forEach((entry) => this.#seen(entry)), {
    rootMargin: "200px 0px",
  });
  #end = el("div", { class: "sentinel" });

  constructor(main, query) {
    document.title = "Studies · Photinus";
    this.search = textInput({
      type: "search",
      placeholder: "Search by name",
      "aria-label": "Search by name",
      value: query.get("search") ?? "",
    });
    this.state = choice(
      [
        ["", "Every state"],
        ["active", "Active"],
        ["stopped", "Stopped"],
      ],
      query.get("state") ?? "",
      { "aria-label": "State" },
    );
    this.#table = el(
      "table",
      { class: "studies" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col", class: "pick" }, el("span", { class: "unseen" }, "Compare")),
          COLUMNS.map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      this.#body,
    );
    main.append(
      el(
        "div",
        { class: "head" },
        el("h1", {}, "Studies"),
        session.canWrite && el("a", { href: "/new", class: "button primary" }, "New study"),
      ),
      this.#tools,
      this.#place,
      this.#end,
    );
    replace(this.#tools, this.search, this.state, this.#compare);
    replace(this.#place, loadingState());
    this.#offer();
    let timer;
    this.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#restart(), 200);
    });
    this.state.addEventListener("change", () => this.#restart());
    this.#compare.addEventListener("click", () => navigate(`/compare?ids=${[...this.#chosen].join(",")}`));
    this.#watcher.observe(this.#end);
    this.#poller.start();
  }

  close() {
    this.#poller.stop();
    this.#watcher.disconnect();
  }

  get #filters() {
    return { search: this.search.value.trim(), state: this.state.value, newest_first: true };
  }

  #restart() {
    setQuery({ search: this.search.value.trim(), state: this.state.value });
    for (const { node } of this.#rows.values()) this.#watcher.unobserve(node);
    this.#rows.clear();
    this.#visible.clear();
    this.#body.replaceChildren();
    this.#hasMore = true;
    this.#hasRead = false;
    this.#poller.now();
  }

  /** The newest piece, and the rows that are in view further down. */
  async #refresh(signal) {
    await this.#read({}, signal);
    // What is in view is told a moment after the first rows are drawn.
    if (!this.#visible.size) await new Promise((resolve) => setTimeout(resolve, 60));
    const shown = [...this.#visible].sort((a, b) => b - a);
    const ids = [...this.#rows.keys()].sort((a, b) => b - a);
    const deep = shown.filter((id) => ids.indexOf(id) >= PIECE);
    if (deep.length) await this.#read({ after: deep[0] + 1, limit: Math.max(deep.length, 1) }, signal);
    await Promise.all(shown.slice(0, PIECE).map((id) => this.#readRate(this.#rows.get(id), signal)));
  }

  async #read({ after = null, limit = PIECE }, signal) {
    const filters = this.#filters;
    const { studies, next } = await api.studies({ ...filters, after, limit }, signal);
    if (JSON.stringify(filters) !== JSON.stringify(this.#filters)) return; // typed on meanwhile
    const lowest = next === null ? -Infinity : studies.at(-1).id;
    const found = new Set(studies.map((study) => study.id));
    for (const id of [...this.#rows.keys()]) {
      if ((after === null || id < after) && id >= lowest && !found.has(id)) this.#drop(id);
    }
    studies.forEach((study) => this.#put(study));
    const isLowest = Math.min(...this.#rows.keys()) >= (studies.at(-1)?.id ?? 0);
    if (isLowest) this.#hasMore = next !== null;
    this.#hasRead = true;
    this.#draw();
  }

  async #more() {
    if (!this.#hasMore || !this.#hasRead || this.#isReading) return;
    this.#isReading = true;
    try {
      await this.#read({ after: Math.min(...this.#rows.keys()) }, this.#poller.signal);
    } catch {
      // The poller says so; scrolling tries again.
    } finally {
      this.#isReading = false;
    }
    if (this.#end.getBoundingClientRect().top < window.innerHeight + 200) await this.#more();
  }

  #seen({ target, isIntersecting }) {
    if (target === this.#end) {
      if (isIntersecting) this.#more();
    } else if (isIntersecting) this.#visible.add(Number(target.dataset.id));
    else this.#visible.delete(Number(target.dataset.id));
  }

  #drop(id) {
    this.#watcher.unobserve(this.#rows.get(id).node);
    this.#rows.get(id).node.remove();
    this.#rows.delete(id);
    this.#visible.delete(id);
    this.#choose(id, false);
  }

  #put(record) {
    const row = this.#rows.get(record.id);
    if (row) {
      row.record = record;
      this.#fill(row);
      return;
    }
    const made = { node: el("tr", { data: { id: record.id } }), record, rate: null, rateOf: null };
    this.#rows.set(record.id, made);
    this.#fill(made);
    const below = [...this.#body.children].find((node) => Number(node.dataset.id) < record.id);
    this.#body.insertBefore(made.node, below ?? null);
    this.#watcher.observe(made.node);
  }

  /** How fast a study goes is seen from its latest trials; only of those that move is it asked, and it grows old. */
  async #readRate(row, signal) {
    const now = row && `${row.record.last_event} ${halfMinute()}`;
    if (!row || row.rateOf === now) return;
    row.rateOf = now;
    const isMoving = serverNow() - Date.parse(row.record.last_change_at) < LATELY_MS;
    row.rate = isMoving
      ? rateOf((await api.latestFinished(row.record.id, RATE_TRIALS, signal)).trials, serverNow())
      : null;
    this.#fill(row);
  }

  #fill(row) {
    const { record } = row;
    const parts = [record.last_event, record.state, record.num_workers, row.rate, halfMinute()];
    const seen = JSON.stringify(parts); // "3 min ago" grows old
    if (row.seen === seen) return;
    row.seen = seen;
    const box = el("input", {
      type: "checkbox",
      "aria-label": `Compare ${record.name}`,
      checked: this.#chosen.has(record.id),
    });
    box.addEventListener("change", () => this.#choose(record.id, box.checked));
    keepFocus(row.node, () =>
      replace(row.node, el("td", { class: "pick" }, box), studyCells(record, row.rate)),
    );
  }

  #choose(id, isChosen) {
    if (isChosen) this.#chosen.add(id);
    else this.#chosen.delete(id);
    this.#offer();
  }

  #offer() {
    const isPair = this.#chosen.size === 2;
    this.#compare.disabled = !isPair;
    this.#compare.textContent = isPair ? "Compare" : "Tick two to compare";
  }

  #draw() {
    const isFiltered = Boolean(this.search.value.trim() || this.state.value);
    this.#tools.hidden = !this.#rows.size && !isFiltered;
    if (this.#rows.size) {
      if (!this.#table.isConnected) replace(this.#place, this.#table);
    } else if (isFiltered)
      replace(this.#place, emptyState("Nothing fits", "No study has that name and state."));
    else {
      const start = session.canWrite && el("a", { href: "/new", class: "button primary" }, "Create a study");
      replace(
        this.#place,
        emptyState(
          "No study yet",
          "A study is a search space, an objective, and every trial of it. Create one here, or from Python " +
            "with photinus.connect(…).create_study(…).",
          start,
        ),
      );
    }
  }
}
