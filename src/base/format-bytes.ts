const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `366867` -> `358 KiB`: three digits at most before the unit, one decimal below ten. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
