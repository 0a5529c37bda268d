// Two habits of Plotly that the policy of these pages forbids, turned into what it allows. Nothing is lost: styles that
// a script sets on an element one by one are its own doing, while style elements and attributes could be smuggled in.

/** To be called once, before Plotly's script is loaded. */
export const makePlotlyStrict = () => {
  const setAttribute = SVGElement.prototype.setAttribute;
  SVGElement.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  // Its maps bring a style sheet of their own as soon as the script is loaded, and we draw no maps.
  const { head } = document;
  head.appendChild = (node) =>
    node instanceof HTMLStyleElement ? node : Node.prototype.appendChild.call(head, node);
};
