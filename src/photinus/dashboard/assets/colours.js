// The scale from worse to better: dark blue to light amber, which eyes of every kind tell apart by lightness.

const STOPS = [
  [0, [67, 85, 127]],
  [0.4, [138, 106, 148]],
  [0.7, [207, 125, 98]],
  [1, [243, 179, 64]],
];

/** Colour of a share in [0, 1], 1 being best. */
export const shade = (share, opacity = 1) => {
  const u = Math.min(1, Math.max(0, share));
  const i = Math.max(
    1,
    STOPS.findIndex(([stop]) => stop >= u),
  );
  const [[low, from], [high, to]] = [STOPS[i - 1], STOPS[i]];
  const t = (u - low) / (high - low);
  const [r, g, b] = from.map((channel, c) => Math.round(channel + t * (to[c] - channel)));
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
};
