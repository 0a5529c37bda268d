// Asking again and again: every two seconds, rarely in hidden tabs, and ever more patiently while the server is away.

import { Away, Refused } from "/static/api.js";

const EVERY_MS = 2000;
const HIDDEN_MS = 30000;
const LONGEST_MS = 30000;

/** Tells the page whether the server answers: events "away" (detail: milliseconds until the next try) and "back". */
export const connection = new EventTarget();
let isAway = false;

export const sayAway = (wait) => {
  isAway = true;
  connection.dispatchEvent(new CustomEvent("away", { detail: wait }));
};

export const sayBack = () => {
  if (isAway) connection.dispatchEvent(new CustomEvent("back"));
  isAway = false;
};

/** Runs a task now and then until it is stopped. A task that throws `Refused` with 4xx ends the polling. */
export class Poller {
  #task;
  #timer = null;
  #failures = 0;
  #isRunning = false;
  #stop = new AbortController();

  constructor(task, { onRefused = () => {} } = {}) {
    this.#task = task;
    this.onRefused = onRefused;
  }

  get signal() {
    return this.#stop.signal;
  }

  start({ atOnce = true } = {}) {
    const options = { signal: this.signal };
    document.addEventListener("visibilitychange", () => !document.hidden && this.now(), options);
    connection.addEventListener("again", () => this.now(), options);
    if (atOnce) this.now();
    else this.#plan();
    return this;
  }

  stop() {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  /** Do not wait for the next turn. */
  async now() {
    if (this.#isRunning || this.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#isRunning = true;
    try {
      await this.#task(this.signal);
      this.#failures = 0;
      if (!this.signal.aborted) sayBack();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isRunning = false;
      this.#plan();
    }
  }

  #failed(error) {
    if (this.signal.aborted) return;
    if (error instanceof Refused && error.status < 500 && error.status !== 429) {
      this.stop();
      this.onRefused(error);
      return;
    }
    if (!(error instanceof Away || error instanceof Refused)) {
      this.stop();
      throw error;
    }
    this.#failures += 1;
    sayAway(this.#wait());
  }

  #wait() {
    if (this.#failures) return Math.min(EVERY_MS * 2 ** (this.#failures - 1), LONGEST_MS);
    return document.hidden ? HIDDEN_MS : EVERY_MS;
  }

  #plan() {
    clearTimeout(this.#timer);
    if (!this.signal.aborted) this.#timer = setTimeout(() => this.now(), this.#wait());
  }
}
