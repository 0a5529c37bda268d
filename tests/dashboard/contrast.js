// Visible texts that are too faint against what lies behind them: 4.5 to 1 by the formula of WCAG 2, 3 to 1 if large.
() => {
  const parse = (text) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const pen = canvas.getContext("2d");
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const cache = new Map();
  const read = (text) => cache.get(text) ?? cache.set(text, parse(text)).get(text);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = read(getComputedStyle(at).backgroundColor);
      if (found[3] > 250) return found;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const style = getComputedStyle(node);
    const isSeen = node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    if (!walker.currentNode.textContent.trim() || !isSeen) continue;
    if (node.closest(".unseen, noscript, option, :disabled")) continue;
    if (node.closest(".js-plotly-plot")) continue; // the colours of its texts are checked with the figures
    const isSvg = node.namespaceURI.includes("svg");
    const [a, b] = [light(read(isSvg ? style.fill : style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 600);
    const name = `${node.tagName} ${node.className.baseVal ?? node.className}`;
    if (ratio < (isLarge ? 3 : 4.5)) poor.push(`${ratio.toFixed(2)} ${name}: ${walker.currentNode.textContent.slice(0, 40)}`);
  }
  return poor;
}
