/** A statement, coloured: a scanner of its words, not a parser of SQL. */

import { make } from "./dom.js";
import { copyButton } from "./save.js";

const TOKEN = /(?<comment>--[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>'(?:[^']|'')*')|(?<name>"(?:[^"]|"")*"|`[^`]*`)|(?<digits>\b\d+(?:\.\d+)?\b)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<space>\s+)|[\s\S]/gu;
const CLAUSE = /^(FROM|WHERE|GROUP|HAVING|ORDER|LIMIT|UNION|INTERSECT|EXCEPT|JOIN|LEFT|RIGHT|INNER|FULL|CROSS)$/i;
/** Words that go on with a clause that has begun a line. */
const JOINS = /^(LEFT|RIGHT|INNER|FULL|CROSS|OUTER)$/i;
const KEYWORDS = new Set(
  ("ALL AND AS ASC BETWEEN BY CASE CAST CROSS CURRENT_DATE DESC DISTINCT ELSE END EXCEPT EXISTS FALSE FETCH FILTER FIRST " +
    "FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT LIKE LIMIT NEXT NOT NULL NULLS " +
    "OFFSET ON ONLY OR ORDER OUTER OVER PARTITION QUALIFY RIGHT ROW ROWS SELECT THEN TOP TRUE UNION USING VALUES WHEN " +
    "WHERE WINDOW WITH").split(" "),
);

/** Return a statement in colours, a clause a line, with a button that copies it as it is. */
export function sqlView(sql) {
  const code = make("code", { dir: "ltr" }, ...pieces(sql));
  const copy = copyButton(() => sql);
  return make("div", { class: "sql" }, make("pre", { role: "group", tabindex: "0", "aria-label": "SQL" }, code), copy);
}

/** Return a statement with a clause a line. */
export function inLines(sql) {
  return pieces(sql).map((each) => each.textContent ?? each).join("");
}

function pieces(sql) {
  const lines = !sql.includes("\n");
  let depth = 0;
  let before = "";
  const tokens = [...sql.matchAll(TOKEN)];
  return tokens.map(({ 0: text, groups }, at) => {
    depth += text === "(" ? 1 : text === ")" ? -1 : 0;
    if (groups.word) before = text;
    const next = tokens[at + 1]?.[0] ?? "";
    if (groups.space) return lines && depth === 0 && CLAUSE.test(next) && !JOINS.test(before) ? "\n" : text;
    const kind = groups.word ? (KEYWORDS.has(text.toUpperCase()) ? "keyword" : null) : kindOf(groups);
    return kind ? make("span", { class: kind }, text) : text;
  });
}

function kindOf(groups) {
  return ["comment", "string", "name", "digits"].find((kind) => groups[kind] !== undefined);
}
