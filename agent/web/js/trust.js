/** How far an answer can be trusted, as a badge that shows the reason. */

import { make } from "./dom.js";
import { say, text } from "./language.js";

/** Return the badge of an output, or null if nothing is known about it. */
export function trustBadge(output) {
  const found = trustOf(output);
  if (!found) return null;
  const { level, key, by = [], reasons } = found;
  const label = say(make("span"), () => [text(key), ...by].join(" · "));
  return make("details", { class: `trust ${level}`, open: level === "unsure" },
    make("summary", {}, make("span", { class: "mark", "aria-hidden": "true" }, MARKS[level]), label),
    ...reasons.map((reason) => (typeof reason === "string"
      ? make("p", { dir: "auto" }, reason) : say(make("p", { dir: "auto" }), ...reason))));
}

const MARKS = { verified: "✓", checked: "✓", likely: "≈", unsure: "?" };

function trustOf({ audit, verified, metric, checked, chosen, confidence, status, error, sql, output_type }) {
  if (error) return null;
  const isOnlyRun = audit?.steps.some(({ node }) => node === "run_sql");
  if (isOnlyRun && !chosen) return { level: "likely", key: "edited_by_hand", reasons: [["edited_by_hand_why"]] };
  if (verified) return verifiedTrust(verified);
  const reasons = confidence ? [confidence.reason] : [];
  if (status === "unsure") return { level: "unsure", key: "trust_unsure", reasons: [...reasons, ["trust_unsure_why"]] };
  if (metric) return { level: "checked", key: "trust_metric", reasons: [["trust_metric_why"], ...reasons] };
  if (checked) return { level: "checked", key: "trust_checked", reasons: [["trust_checked_why"], ...reasons] };
  if (confidence) return { level: "likely", key: "trust_likely", reasons: [...reasons, ["trust_likely_why"]] };
  if (chosen) return { level: "likely", key: "trust_chosen", reasons: [["trust_chosen_why"], ["trust_likely_why"]] };
  if (sql && output_type) return { level: "likely", key: "trust_unchecked", reasons: [["trust_unchecked_why"], ["trust_likely_why"]] };
  return null;
}

function verifiedTrust({ question, author, date, note }) {
  const reasons = [["trust_verified_why", { question }], ...(note ? [note] : [])];
  return { level: "verified", key: "trust_verified", by: [author, date].filter(Boolean), reasons };
}
