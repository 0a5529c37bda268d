// One study as the page knows it: everything is read once, and after that only what changed.

import { api, serverNow } from "/static/api.js";
import { bestTrials, rateOf } from "/static/goals.js";
import { Poller } from "/static/live.js";

const RECORD_EVERY = 5; // turns: states and workers can change without a change of a trial

/** What tables and pictures need of a trial; ten thousand of them stay in memory. */
const slim = (trial) => ({
  number: trial.number,
  params: trial.params,
  state: trial.state,
  values: trial.values,
  message: trial.message,
  worker: trial.worker,
  created_at: trial.created_at,
  started_at: trial.started_at,
  completed_at: trial.completed_at,
  updated_event: trial.updated_event,
  intent: trial.reason?.predicted ? trial.reason.intent : null,
});

/** Events: "change" when something is new, "refused" (detail: the error) when the study cannot be read any more. */
export class StudyData extends EventTarget {
  record = null;
  trials = []; // by number
  isComplete = false; // whether older trials are all here
  #byNumber = [];
  #event = 0;
  #turn = 0;
  #best = null;
  #poller;

  constructor(id) {
    super();
    this.id = id;
    this.#poller = new Poller((signal) => this.#refresh(signal), {
      onRefused: (error) => this.dispatchEvent(new CustomEvent("refused", { detail: error })),
    });
  }

  get problem() {
    return this.record.problem;
  }

  /** The best trial, or the Pareto set. */
  get best() {
    this.#best ??= bestTrials(this.problem, this.trials);
    return this.#best;
  }

  get rate() {
    return rateOf(this.trials, serverNow());
  }

  get event() {
    return this.#event;
  }

  start() {
    this.#poller.start();
    return this;
  }

  stop() {
    this.#poller.stop();
  }

  /** Look now, because this page has just changed something. */
  async refresh() {
    this.#turn = 0;
    await this.#poller.now();
  }

  async #refresh(signal) {
    if (!this.isComplete) return this.#readAll(signal);
    const { trials, last_event: event } = await api.changedTrials(this.id, this.#event, signal);
    const isTurn = this.#turn++ % RECORD_EVERY === 0;
    if (trials.length || isTurn) this.record = await api.study(this.id, signal);
    this.#event = Math.max(this.#event, event);
    this.#take(trials, { always: isTurn });
  }

  /** The newest first, so that a long study shows itself at once. */
  async #readAll(signal) {
    this.record = await api.study(this.id, signal);
    this.#take([], { always: true });
    let after;
    let event = null;
    do {
      const page = await api.trialsPage(this.id, after, signal);
      event ??= page.last_event; // what changes while the older ones are read is asked for afterwards
      this.#take(page.trials, { always: true });
      after = page.next;
    } while (after !== null && after !== undefined);
    this.#event = event;
    this.isComplete = true;
    this.#take([], { always: true });
  }

  #take(changed, { always = false } = {}) {
    for (const trial of changed) this.#byNumber[trial.number] = slim(trial);
    if (changed.length) {
      this.trials = this.#byNumber.filter(Boolean);
      this.#best = null;
    }
    if (changed.length || always) this.dispatchEvent(new CustomEvent("change", { detail: changed }));
  }
}
