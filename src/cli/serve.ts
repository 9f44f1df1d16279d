import type { Command } from './main.js';

export const run: Command = async () => {
  throw new Error('under construction');
};
