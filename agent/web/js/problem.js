/** What went wrong, in words for the user. */

import { text } from "./language.js";

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
