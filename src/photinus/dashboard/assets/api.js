// The HTTP API: one function for every request, errors with the server's own words, and the server's clock.

const ROOT = "/api/v1";
const PAGE = 1000; // trials in one answer
let clockOffset = 0; // what the server's clock is ahead of ours, in milliseconds

export const serverNow = () => Date.now() + clockOffset;

/** The server answered, and said no. */
export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/** The server did not answer, or something before it did. */
export class Away extends Error {}

/** A name for a request, so that sending it twice does it once. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

const addressOf = (path, query) => {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const one of [value].flat())
      if (one !== null && one !== undefined && one !== "") parameters.append(key, one);
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
};

const refusal = async (response) => {
  const body = await response.json().catch(() => null);
  const { kind = "ServerError", message = `the server answered ${response.status}` } = body?.error ?? {};
  if (response.status === 401) window.dispatchEvent(new CustomEvent("photinus:stranger"));
  return new Refused(response.status, kind, message);
};

export const send = async (method, path, { query = {}, body, signal } = {}) => {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (method === "POST") headers["Idempotency-Key"] = newKey();
  let response;
  try {
    response = await fetch(addressOf(path, query), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Away("the server does not answer");
  }
  const date = Date.parse(response.headers.get("Date"));
  // The header has whole seconds: the middle of that second, and no correction for less than a second.
  if (date) clockOffset = Math.abs(date + 500 - Date.now()) > 1500 ? date + 500 - Date.now() : 0;
  if ([502, 504].includes(response.status) && !response.headers.get("Content-Type")?.includes("json")) {
    throw new Away("the server does not answer");
  }
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : response;
};

const json = async (...request) => {
  const response = await send(...request);
  return response === null ? null : response.json();
};
const get = (path, query, signal) => json("GET", ROOT + path, { query, signal });
const post = (path, body) => json("POST", ROOT + path, { body });
const trialPath = (id, number) => `/studies/${id}/trials/${number}`;

export const api = {
  whoami: (signal) => get("/whoami", {}, signal),
  logIn: (token) => send("POST", "/login", { body: { token } }),
  logOut: () => send("POST", "/logout"),

  studies: (query, signal) => get("/studies", query, signal),
  study: (id, signal) => get(`/studies/${id}`, {}, signal),
  createStudy: (body) => post("/studies", body),
  deleteStudy: (id) => json("DELETE", `${ROOT}/studies/${id}`),
  stopStudy: (id) => post(`/studies/${id}/stop`),
  resumeStudy: (id) => post(`/studies/${id}/resume`),

  trialsPage: (id, after, signal, limit = PAGE) =>
    get(`/studies/${id}/trials`, { limit, newest_first: true, after }, signal),
  changedTrials: (id, event, signal) => get(`/studies/${id}/trials`, { since_event: event }, signal),
  latestFinished: (id, limit, signal) =>
    get(
      `/studies/${id}/trials`,
      { limit, newest_first: true, state: ["completed", "infeasible", "failed"] },
      signal,
    ),
  trial: (id, number, signal) => get(trialPath(id, number), {}, signal),
  addTrials: (id, trials) => post(`/studies/${id}/trials`, { trials }),
  tell: (id, number, outcome) => post(`${trialPath(id, number)}/tell`, outcome),
  amend: (id, number, values) => post(`${trialPath(id, number)}/amend`, { values }),
  stopTrial: (id, number) => post(`${trialPath(id, number)}/stop`),

  /** A picture as the text of its JSON. */
  plot: async (id, kind, query, signal) =>
    (await send("GET", `${ROOT}/studies/${id}/plots/${kind}`, { query, signal })).text(),
  exportAddress: (id, format) => `${ROOT}/studies/${id}/export?format=${format}`,
};
