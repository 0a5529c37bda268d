// What is better: the best trial, the Pareto set, and how the best came about.

/** The value turned so that less is better. */
export const costOf = (trial, metric) =>
  metric.goal === "minimize" ? trial.values[metric.name] : -trial.values[metric.name];

export const isMulti = (problem) => problem.metrics.length > 1;

export const completed = (trials) => trials.filter((trial) => trial.state === "completed");

/** The completed trial with the best value of one objective; the first of them. */
export const bestIn = (trials, metric) => {
  let best = null;
  for (const trial of trials) {
    if (trial.state === "completed" && (best === null || costOf(trial, metric) < costOf(best, metric)))
      best = trial;
  }
  return best;
};

/** Completed trials that were better than all before them, by number. */
export const improvements = (trials, metric) => {
  const found = [];
  for (const trial of trials) {
    if (trial.state !== "completed") continue;
    if (!found.length || costOf(trial, metric) < costOf(found.at(-1), metric)) found.push(trial);
  }
  return found;
};

const compare = (a, b) => {
  for (let i = 0; i < a.costs.length; i++) if (a.costs[i] !== b.costs[i]) return a.costs[i] - b.costs[i];
  return 0;
};

/** Completed trials that no other one beats, by number. */
export const paretoSet = (problem, trials) => {
  // A trial can only be beaten by one that sorts before it, and whoever is beaten is beaten by one of the set.
  let remaining = completed(trials)
    .map((trial) => ({ trial, costs: problem.metrics.map((metric) => costOf(trial, metric)) }))
    .sort(compare);
  const front = [];
  while (remaining.length) {
    const first = remaining[0].costs;
    front.push(...remaining.filter((row) => row.costs.every((cost, m) => cost === first[m])));
    remaining = remaining.filter((row) => row.costs.some((cost, m) => cost < first[m]));
  }
  return front.map((row) => row.trial).sort((a, b) => a.number - b.number);
};

export const bestTrials = (problem, trials) => {
  if (isMulti(problem)) return paretoSet(problem, trials);
  const best = bestIn(trials, problem.metrics[0]);
  return best ? [best] : [];
};

/** At most `limit` of the trials, those in `keep` among them, evenly spread: nobody sees ten thousand dots apart. */
export const thinned = (trials, limit, keep = new Set()) => {
  if (trials.length <= limit) return trials;
  const kept = trials.filter((trial) => keep.has(trial.number));
  const others = trials.filter((trial) => !keep.has(trial.number));
  const room = Math.max(limit - kept.length, 1);
  const step = (others.length - 1) / Math.max(room - 1, 1);
  const chosen = new Set(kept);
  for (let i = 0; i < room; i++) chosen.add(others[Math.round(i * step)]);
  return trials.filter((trial) => chosen.has(trial));
};

const FINISHED = new Set(["completed", "infeasible", "failed"]);
const WINDOW_S = 300;

export const isFinished = (trial) => FINISHED.has(trial.state);
export const isRunning = (trial) => trial.state === "active" || trial.state === "stopping";
export const numFinished = (counts) => [...FINISHED].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
export const numAll = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** Trials finished per minute over the last five minutes; null where there was none. */
export const rateOf = (trials, now) => {
  const ends = trials
    .filter((trial) => isFinished(trial) && trial.completed_at)
    .map((trial) => Date.parse(trial.completed_at));
  const recent = ends.filter((end) => now - end < WINDOW_S * 1000);
  if (recent.length < 2) return recent.length ? recent.length / (WINDOW_S / 60) : null;
  // What runs for less than five minutes is counted from its beginning.
  const first = recent.reduce((low, end) => Math.min(low, end), now);
  const isNew = recent.length === ends.length;
  const minutes = (isNew ? Math.max(now - first, 10000) : WINDOW_S * 1000) / 60000;
  return recent.length / minutes;
};
