/** A statement, coloured: a scanner of its words, not a parser of SQL. */

import { make } from "./dom.js";
import { copyButton } from "./save.js";

const TOKEN = /(?<comment>--[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>'(?:[^']|'')*')|(?<name>"(?:[^"]|"")*"|`[^`]*`)|(?<digits>\b\d+(?:\.\d+)?\b)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|\s+|[\s\S]/gu;
const KINDS = ["comment", "string", "digits"];
const KEYWORDS = new Set(
  ("ALL AND AS ASC BETWEEN BY CASE CAST CROSS CURRENT_DATE DESC DISTINCT ELSE END EXCEPT EXISTS FALSE FETCH FILTER FIRST " +
    "FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT LIKE LIMIT NEXT NOT NULL NULLS " +
    "OFFSET ON ONLY OR ORDER OUTER OVER PARTITION QUALIFY RIGHT ROW ROWS SELECT THEN TOP TRUE UNION USING VALUES WHEN " +
    "WHERE WINDOW WITH").split(" "),
);

/** Return a statement in colours with a button that copies it. */
export function sqlView(sql) {
  const code = make("code", { dir: "ltr" }, ...pieces(sql));
  const copy = copyButton(() => sql);
  return make("div", { class: "sql" }, make("pre", { role: "group", tabindex: "0", "aria-label": "SQL" }, code), copy);
}

function pieces(sql) {
  return [...sql.matchAll(TOKEN)].map(({ 0: text, groups }) => {
    const kind = KINDS.find((each) => groups[each] !== undefined) ?? (KEYWORDS.has(text.toUpperCase()) ? "keyword" : null);
    return kind ? make("span", { class: kind }, text) : text;
  });
}
