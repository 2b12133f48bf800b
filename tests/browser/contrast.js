// Every text on the screen whose contrast with its background is below what WCAG asks (level AA).
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((part, index) => (index === 3 ? part / 255 : part));
  };
  const over = (top, bottom) => [0, 1, 2].map((index) => top[index] * top[3] + bottom[index] * (1 - top[3]));
  const light = (colour) => {
    const [red, green, blue] = colour.map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    const layers = [];
    for (let above = element; above; above = above.parentElement) layers.push(rgba(getComputedStyle(above).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, 4);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("script, style, noscript, .unseen, .skip")) continue;
    const style = getComputedStyle(element);
    const below = ground(element);
    const one = light(over(rgba(style.color), below));
    const other = light(below);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.set(`${element.tagName}.${element.className}`, `${element.tagName}.${element.className} "${walker.currentNode.data.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  return [...found.values()];
})();
