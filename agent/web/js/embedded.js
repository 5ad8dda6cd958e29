/** The page in a frame of another site, which gets tokens from that site; the policy of the page names the sites. */

const PATIENCE_MS = 15_000;
const FRESH_MS = 5_000;

export const isEmbedded = window.parent !== window && location.pathname.endsWith("/embed");
let token = null;
let receivedAt = -Infinity;
let wanted = null;

/** Return the headers that a request carries. */
export function tokenHeaders() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/** Ask the site for a token; return whether there is a new one. One that is refused at once is not asked for again. */
export async function askToken() {
  if (performance.now() - receivedAt < FRESH_MS) return false;
  wanted ??= received().finally(() => {
    wanted = null;
  });
  return wanted;
}

function received() {
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(null), PATIENCE_MS);
    const hear = ({ source, data }) => {
      if (source === window.parent && data?.type === "datasphinx-token") end(data.token);
    };
    function end(given) {
      clearTimeout(timer);
      window.removeEventListener("message", hear);
      const isToken = typeof given === "string" && /^[\x21-\x7e]+$/.test(given);
      if (isToken) [token, receivedAt] = [given, performance.now()];
      resolve(isToken);
    }
    window.addEventListener("message", hear);
    window.parent.postMessage({ type: "datasphinx-token-wanted" }, "*");
  });
}
