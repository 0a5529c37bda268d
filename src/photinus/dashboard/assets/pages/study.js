// One study: its numbers, what can be done with it, and its pictures behind tabs.

import { StudyData } from "/static/data.js";
import { el, keepFocus, replace, theirs } from "/static/dom.js";
import { ago, count, localTime, many, number } from "/static/format.js";
import { isMulti, numAll, numFinished } from "/static/goals.js";
import { crumbs, emptyState, heading, loadingState, tile } from "/static/parts.js";
import { setQuery, trialPath } from "/static/routes.js";
import { session } from "/static/session.js";
import { varying } from "/static/space.js";
import { progressBar, rateText, studyBadge } from "/static/states.js";
import { studyActions } from "/static/actions.js";
import { makeFilter } from "/static/filters.js";
import { contourTab, importanceTab, modelTab, timelineTab } from "/static/tabs/server.js";
import { overviewTab } from "/static/tabs/overview.js";
import { parallelTab } from "/static/tabs/parallel.js";
import { paretoTab } from "/static/tabs/pareto.js";
import { slicesTab } from "/static/tabs/slices.js";
import { trialsTab } from "/static/tabs/trials.js";

const TABS = [
  ["overview", "Overview", overviewTab],
  ["trials", "Trials", trialsTab],
  ["pareto", "Pareto", paretoTab, isMulti],
  ["parallel", "Parallel", parallelTab],
  ["slices", "Slices", slicesTab],
  ["contour", "Contour", contourTab, (problem) => varying(problem).length > 1],
  ["importance", "Importance", importanceTab],
  ["model", "Model", modelTab],
  ["timeline", "Timeline", timelineTab],
];

export const openPage = (main, place) => new StudyPage(main, place);

class StudyPage {
  #data;
  #main;
  #tab = null; // the open one: { name, node, update, close }
  #tabs = [];
  #panel = el("div", { class: "panel", role: "tabpanel", id: "panel", tabindex: -1 });
  #head = el("div", { class: "head" });
  #tiles = el("div", { class: "tiles" });
  #filter = makeFilter();

  constructor(main, { ids, query }) {
    this.#main = main;
    this.#data = new StudyData(Number(ids.study));
    replace(main, loadingState());
    this.#data.addEventListener("change", () => this.#changed());
    this.#data.addEventListener("refused", ({ detail }) => this.#refused(detail));
    this.wanted = query.get("tab") ?? "overview";
    this.#data.start();
  }

  close() {
    this.#data.stop();
    this.#tab?.close?.();
  }

  /** Back and forward between tabs. */
  moved(query) {
    if (this.#tabs.length) this.#open(query.get("tab") ?? "overview");
  }

  #refused(error) {
    this.#tab?.close?.();
    const isGone = error.status === 404;
    const all = el("a", { href: "/", class: "button" }, "All studies");
    const gone = session.needsTokens
      ? "It was deleted, or it belongs to a project that your token does not open."
      : "It was deleted, or the address is mistyped.";
    replace(
      this.#main,
      emptyState(
        isGone ? "There is no such study" : "The study cannot be shown",
        isGone ? gone : error.message,
        all,
      ),
    );
  }

  #changed() {
    if (!this.#tabs.length) this.#build();
    this.#drawHead();
    keepFocus(this.#tiles, () => this.#drawTiles());
    this.#tab?.update?.();
  }

  #build() {
    const { problem } = this.#data;
    document.title = `${this.#data.record.name} · Photinus`;
    this.#tabs = TABS.filter(([, , , isThere]) => !isThere || isThere(problem)).map(([name, label, make]) => {
      const node = el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": "panel",
          on: { click: () => this.#choose(name) },
        },
        el("span", { data: { text: label } }, label),
      );
      return { name, node, make };
    });
    const list = el(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Views of the study" },
      this.#tabs.map((tab) => tab.node),
    );
    list.addEventListener("keydown", (event) => this.#key(event));
    replace(this.#main, crumbs(["/", "Studies"]), this.#head, this.#tiles, list, this.#panel);
    this.#open(this.wanted);
  }

  #choose(name) {
    if (name === this.#tab?.name) return;
    setQuery({ tab: name === "overview" ? "" : name }, { isReplaced: false });
    this.#open(name);
  }

  #open(name) {
    const tab = this.#tabs.find((one) => one.name === name) ?? this.#tabs[0];
    this.#tab?.close?.();
    for (const { node } of this.#tabs) {
      node.setAttribute("aria-selected", String(node === tab.node));
      node.tabIndex = node === tab.node ? 0 : -1;
    }
    tab.node.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.#panel.setAttribute("aria-labelledby", tab.node.id);
    this.#tab = {
      name: tab.name,
      ...tab.make(this.#data, { filter: this.#filter, openTab: (other) => this.#choose(other) }),
    };
    replace(this.#panel, this.#tab.node);
    this.#tab.update?.();
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const at = this.#tabs.findIndex((tab) => tab.name === this.#tab.name);
    const next =
      { Home: 0, End: this.#tabs.length - 1 }[event.key] ??
      (at + step + this.#tabs.length) % this.#tabs.length;
    this.#choose(this.#tabs[next].name);
    this.#tabs[next].node.focus();
  }

  #drawHead() {
    const { record } = this.#data;
    const seen = JSON.stringify([record.state, record.name]);
    if (this.#head.dataset.seen === seen) return; // or an open menu would close at every turn
    this.#head.dataset.seen = seen;
    replace(
      this.#head,
      el(
        "div",
        { class: "title" },
        el("div", { class: "name" }, heading(record.name), studyBadge(record)),
        el(
          "p",
          { class: "lead" },
          record.project !== "default" && [theirs(record.project), " · "],
          `${record.algorithm} · seed ${record.seed} · created `,
          localTime(record.created_at),
        ),
      ),
      studyActions(this.#data),
    );
  }

  #drawTiles() {
    const { record, trials, rate } = this.#data;
    const finished = numFinished(record.counts);
    const running = (record.counts.active ?? 0) + (record.counts.stopping ?? 0);
    const waiting = (record.counts.queued ?? 0) + (record.counts.expired ?? 0);
    const isLate = !this.#data.isComplete && trials.length < numAll(record.counts);
    replace(
      this.#tiles,
      this.#bestTile(),
      el(
        "div",
        { class: "tile" },
        el("span", {}, "finished trials"),
        el("strong", {}, count(finished)),
        progressBar(record.counts),
        isLate && el("small", {}, `reading ${count(trials.length)} of ${count(numAll(record.counts))}…`),
      ),
      tile("running now", count(running), [
        many(record.num_workers ?? 0, "worker"),
        waiting ? `, ${count(waiting)} waiting` : "",
      ]),
      tile(
        "rate",
        rateText(rate),
        record.last_change_at ? ["last change ", ago(record.last_change_at)] : "nothing happened yet",
      ),
    );
  }

  #bestTile() {
    const { problem, record, best, id } = this.#data;
    if (isMulti(problem)) {
      const size = this.#data.isComplete ? best.length : (record.pareto_size ?? 0);
      return tile(
        "Pareto set",
        size ? count(size) : "–",
        `trials that no other beats in ${problem.metrics.length} objectives`,
      );
    }
    const [metric] = problem.metrics;
    const found = this.#data.isComplete ? best[0] : record.best;
    const label = ["best ", theirs(metric.name)];
    if (!found) return tile(label, "–", "no completed trial yet");
    return tile(
      label,
      el("span", { title: String(found.values[metric.name]) }, number(found.values[metric.name])),
      [`${metric.goal}d, in `, el("a", { href: trialPath(id, found.number) }, `trial ${found.number}`)],
    );
  }
}
