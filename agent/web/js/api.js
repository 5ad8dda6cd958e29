/** Requests to the server, relative to the page, so that it may stand under any path, and what goes wrong. */

import { askKey, keyHeaders } from "./key.js";
import { current, text } from "./language.js";

/**
 * Return the response to a request, which has a status of success. A key is asked for where one is wanted, unless `asksKey` is false.
 * Throws a Problem, or what the signal's abort throws.
 */
export async function request(path, { asksKey = true, ...options } = {}) {
  const key = keyHeaders();
  const sentAt = performance.now();
  const response = await attempt(path, { ...options, headers: { ...options.headers, ...key } });
  // Another request may have been given a key meanwhile.
  const isOld = key.Authorization !== keyHeaders().Authorization;
  if (response.status === 401 && (isOld || (asksKey && (await askKey(sentAt))))) return request(path, { asksKey, ...options });
  if (!response.ok) throw Object.assign(await problemOf(response), { status: response.status });
  return response;
}

/** Return what the server answers to a request. */
export async function got(path, options) {
  return (await request(path, options)).json();
}

/** Return the response to `body`, sent as JSON with `options` of the request. */
export function sendJson(method, path, body, options = {}) {
  return request(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...options });
}

/** Return the response to `body`, posted as JSON. */
export function postJson(path, body, signal) {
  return sendJson("POST", path, body, { signal });
}

async function attempt(path, options) {
  try {
    // Errors come in the language of the page.
    const headers = { "Accept-Language": current(), ...options.headers };
    return await fetch(path, { ...options, headers });
  } catch (error) {
    throw error.name === "AbortError" ? error : lost();
  }
}

/** A request that did not end in an answer. `code` is stable; `message` is for the user. */
export class Problem extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Return the problem of a connection that was lost. */
export function lost() {
  return new Problem("connection_lost", text("fail_connection_why"));
}

/** Return what is shown of an error that was thrown. */
export function seenOf({ name, code, message, seconds }) {
  return name === "AbortError" ? { code: "stopped" } : { code, message, seconds };
}

/** Return the problem that a response with an error status tells of: problem details (RFC 9457), or FastAPI's own. */
export async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  const found = problemFrom(body, response.status);
  const seconds = response.headers.get("Retry-After");
  if (/^\d+$/.test(seconds ?? "")) Object.assign(found, { seconds, message: `${found.message} ${text("wait_s", { seconds })}` });
  return found;
}

/** Return the problem of problem details as they stand in a body or an event. */
export function problemFrom(body, status = body?.status ?? "") {
  const detail = Array.isArray(body?.detail) ? body.detail.map((each) => each.msg).join("; ") : body?.detail;
  return new Problem(body?.code ?? String(status), detail || body?.title || text("refused", { status }));
}
