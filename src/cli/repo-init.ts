/** `triton repo init DIR`: makes the example repository. */
import { initRepository } from '../tools/init-repository.js';
import type { Command } from './main.js';
import { reportFailure } from './report-failure.js';
import { shellWord } from './shell-word.js';
import { runSubcommand, subcommand } from './subcommand.js';

/** Runs `triton repo init`: 0 when the repository was made, 1 when not, 2 for unusable arguments. */
export const run: Command = (args) => {
  const command = subcommand(
    'triton repo init',
    'make the example repository: an image classifier and small test models',
  )
    .argument('<directory>', 'directory to make; it must be new or empty')
    .allowExcessArguments(false);
  return runSubcommand(command, args, async ({ processedArgs }) => {
    const [directory] = processedArgs as [string];
    try {
      const models = await initRepository(directory);
      process.stdout.write(`Made the repository '${directory}' with ${models.length} models: ${models.join(', ')}.\n`);
      process.stdout.write(`Serve it with: triton serve --model-repository ${shellWord(directory)}\n`);
      return 0;
    } catch (reason) {
      return reportFailure('triton repo init', reason);
    }
  });
};
