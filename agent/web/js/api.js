/** Requests to the server, relative to the page, so that it may stand under any path. */

import { askKey, keyHeaders } from "./key.js";
import { current } from "./language.js";
import { lost, problemOf } from "./problem.js";

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
