/**
 * The one policy of trusted types that the page allows: no text becomes markup, code or an address of code.
 * ECharts sets the empty markup to clear its box before it draws on a canvas, so that may pass.
 */
if (window.trustedTypes) {
  window.trustedTypes.createPolicy("default", { createHTML: (text) => (text === "" ? "" : null) });
}
