// One trial: what was tried, what came, why it was suggested, and all that happened to it.

import { api } from "/static/api.js";
import { Chart } from "/static/chart.js";
import { toast } from "/static/dialogs.js";
import { el, keepFocus, replace, theirs } from "/static/dom.js";
import { amendTrial, tellTrial } from "/static/entry.js";
import { ago, duration, durationOf, localTime, number } from "/static/format.js";
import { isRunning, numAll } from "/static/goals.js";
import { Poller } from "/static/live.js";
import {
  card,
  crumbs,
  emptyState,
  facts,
  loadingState,
  noteFacts,
  paramFacts,
  plainTable,
  valueFacts,
} from "/static/parts.js";
import { reasonCard } from "/static/reason.js";
import { studyPath, trialPath } from "/static/routes.js";
import { session } from "/static/session.js";
import { badge } from "/static/states.js";

export const openPage = (main, place) => new TrialPage(main, place.ids);

class TrialPage {
  #study = null;
  #trial = null;
  #poller;
  #main;
  #chart = new Chart({ label: "Intermediate values", height: 260 });
  #ids;

  constructor(main, ids) {
    this.#main = main;
    this.#ids = ids;
    replace(main, loadingState());
    this.#poller = new Poller((signal) => this.#refresh(signal), {
      onRefused: (error) => this.#refused(error),
    }).start();
  }

  close() {
    this.#poller.stop();
  }

  #refused(error) {
    const back = el("a", { href: studyPath(this.#ids.study), class: "button" }, "The study");
    replace(
      this.#main,
      emptyState(
        error.status === 404 ? "There is no such trial" : "The trial cannot be shown",
        error.message,
        back,
      ),
    );
  }

  async #refresh(signal) {
    const [study, trial] = await Promise.all([
      api.study(this.#ids.study, signal),
      api.trial(this.#ids.study, this.#ids.number, signal),
    ]);
    const isNew =
      this.#trial === null ||
      trial.updated_event !== this.#trial.updated_event ||
      trial.reports.length !== this.#trial.reports.length ||
      numAll(study.counts) !== numAll(this.#study.counts);
    [this.#study, this.#trial] = [study, trial];
    if (isNew) keepFocus(this.#main, () => this.#draw());
  }

  #draw() {
    const [study, trial] = [this.#study, this.#trial];
    document.title = `Trial ${trial.number} of ${study.name} · Photinus`;
    const last = numAll(study.counts) - 1;
    const step = (number, text) =>
      number >= 0 && number <= last
        ? el("a", { class: "button", href: trialPath(study.id, number) }, text)
        : null;
    const scroll = window.scrollY;
    replace(
      this.#main,
      crumbs(["/", "Studies"], [studyPath(study.id), study.name]),
      el(
        "div",
        { class: "head" },
        el(
          "div",
          { class: "title" },
          el("div", { class: "name" }, el("h1", {}, `Trial ${trial.number}`), badge(trial.state)),
          trial.message && el("p", { class: "lead" }, theirs(trial.message)),
        ),
        el(
          "div",
          { class: "actions" },
          step(trial.number - 1, "‹ Earlier"),
          step(trial.number + 1, "Later ›"),
          this.#actions(),
        ),
      ),
      el(
        "div",
        { class: "grid" },
        el(
          "div",
          { class: "stack" },
          card(
            trial.values ? "Result and parameters" : "Parameters",
            trial.values && valueFacts(trial.values),
            trial.values && el("h3", {}, "at"),
            paramFacts(trial.params),
          ),
          card("Facts", trialFacts(trial)),
        ),
        reasonCard(study, trial),
        trial.reports.length ? this.#curve() : null,
        el("div", { class: "wide" }, card("What happened", events(trial))),
      ),
    );
    window.scrollTo(0, scroll);
  }

  #actions() {
    const trial = this.#trial;
    if (!session.canWrite) return [];
    const button = (text, task) => el("button", { type: "button", on: { click: task } }, text);
    const changed = async (task) => {
      if (await task()) await this.#poller.now();
    };
    if (trial.state === "completed")
      return [
        button("Correct…", () => changed(() => amendTrial(this.#study.problem, this.#study.id, trial))),
      ];
    if (!isRunning(trial)) return [];
    const stop = async () => {
      try {
        await api.stopTrial(this.#study.id, trial.number);
        toast("Its worker is asked to end early.");
        await this.#poller.now();
      } catch (error) {
        toast(error.message, "bad");
      }
    };
    return [
      button("Enter the result…", () => changed(() => tellTrial(this.#study.problem, this.#study.id, trial))),
      trial.state === "active" && button("Ask it to stop", stop),
    ];
  }

  /** Values that the worker reported on the way; infinite ones cannot be drawn, and are counted. */
  #curve() {
    const { reports } = this.#trial;
    const names = [...new Set(reports.flatMap((report) => Object.keys(report.values)))];
    const points = (name) =>
      reports
        .filter((report) => Number.isFinite(Number(report.values[name])) && report.values[name] !== undefined)
        .map((report) => ({
          x: report.step,
          y: Number(report.values[name]),
          tip: () => [
            el("b", {}, `step ${report.step}`),
            el("p", {}, theirs(name), ` ${number(report.values[name])}`),
            el("p", {}, localTime(report.at)),
          ],
        }))
        .sort((a, b) => a.x - b.x);
    const styles = ["model", "best dashed", "quiet"];
    const drawn = names.slice(0, styles.length);
    const lost = reports.length * names.length - names.reduce((sum, name) => sum + points(name).length, 0);
    this.#chart.set({
      xLabel: "step",
      yLabel: names.length === 1 ? names[0] : "value",
      isWholeX: true,
      label: `${reports.length} intermediate values. Arrow keys go from one to the next.`,
      series: drawn.flatMap((name, i) => [
        { kind: "line", style: styles[i], points: points(name) },
        { kind: "dots", style: styles[i].split(" ")[0], points: points(name) },
      ]),
    });
    const legend =
      names.length > 1
        ? el(
            "p",
            { class: "legend" },
            drawn.map((name, i) => el("span", { class: `key ${styles[i]}` }, el("i"), theirs(name))),
          )
        : null;
    const section = card(
      "On the way",
      this.#chart.node,
      legend,
      lost > 0 && el("p", { class: "hint" }, `${lost} values were not finite and are not drawn.`),
    );
    section.classList.add("wide");
    return section;
  }
}

const trialFacts = (trial) =>
  facts([
    ["worker", trial.worker !== null ? theirs(trial.worker) : trial.attempts ? "nameless" : null],
    ["handed out", ["never", "once"][trial.attempts] ?? `${trial.attempts} times`],
    ["took", durationOf(trial) === null ? null : duration(durationOf(trial))],
    ["lease ends", trial.lease_expires_at && isRunning(trial) ? localTime(trial.lease_expires_at) : null],
    ["algorithm", trial.algorithm ?? "none: added by hand"],
    ["engine", trial.engine_version],
    ...noteFacts(trial.metadata),
  ]);

const ENDS = {
  expired: "its worker went away: will be handed out again",
  stopping: "its worker is asked to end early",
  queued: "given back: will be handed out again",
};

/** In the order of the study's event counter, which holds where clocks differ. */
const events = (trial) => {
  const rows = [[trial.created_event, trial.created_at, trial.algorithm ? "suggested" : "added by hand"]];
  if (trial.asked_event !== null)
    rows.push([trial.asked_event, trial.attempts > 1 ? null : trial.started_at, "first handed out"]);
  if (trial.attempts > 1)
    rows.push([null, trial.started_at, `handed out again (${trial.attempts} times in all)`]);
  if (trial.reports.length)
    rows.push([null, trial.reports.at(-1).at, `reported up to step ${trial.reports.at(-1).step}`]);
  if (trial.completed_event !== null)
    rows.push([
      trial.completed_event,
      trial.completed_at,
      trial.amendments.length ? "finished" : trial.state,
    ]);
  for (const { event, at, old_values: before, new_values: after } of trial.amendments) {
    const changes = Object.keys(after).map((name, i) => [
      i > 0 && ", ",
      theirs(name),
      ` ${number(before[name])} → ${number(after[name])}`,
    ]);
    rows.push([event, at, [el("b", {}, "corrected: "), changes]]);
  }
  const ended =
    ["expired", "stopping", "queued"].includes(trial.state) &&
    trial.updated_event > (trial.asked_event ?? trial.created_event);
  if (ended) rows.push([trial.updated_event, null, ENDS[trial.state]]);
  return plainTable(
    ["event", "when", "what"],
    rows.map(([event, at, what]) => [
      event === null ? "–" : String(event),
      at ? [localTime(at), el("small", {}, ago(at))] : "–",
      what,
    ]),
    "Events",
  );
};
