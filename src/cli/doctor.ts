import type { Command } from './main.js';
export const run: Command = async () => 0;
