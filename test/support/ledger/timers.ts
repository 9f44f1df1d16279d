/** A timer of Node's that says whether it still waits. */
type NodeTimer = NodeJS.Timeout & { readonly _destroyed?: boolean };

/** Timers set since `watchTimers`, with the stack of who set them. */
let living: { readonly timer: WeakRef<NodeTimer>; readonly stack: string }[] = [];
let sinceTidy = 0;

/** From now on timers are listed with the line that set them. Unreferenced ones too: they are a leak like any other. */
export function watchTimers(): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const original = globalThis[name];
    const watched = function (this: unknown, ...args: Parameters<typeof setTimeout>): NodeJS.Timeout {
      const timer = original.apply(this as never, args) as NodeTimer;
      const holder: { stack?: string } = {};
      Error.captureStackTrace(holder, watched);
      living.push({ timer: new WeakRef(timer), stack: holder.stack ?? '' });
      if (++sinceTidy > 10_000) {
        living = living.filter(waits);
        sinceTidy = 0;
      }
      return timer;
    };
    // util.promisify(setTimeout) and the like go on as before.
    for (const key of Reflect.ownKeys(original)) {
      const property = Object.getOwnPropertyDescriptor(original, key);
      if (property?.configurable) Object.defineProperty(watched, key, property);
    }
    globalThis[name] = watched as never;
  }
}

/** Timers that wait and were set by the product's code: the line that did, each. */
export function productTimers(): string[] {
  return living
    .filter(waits)
    .flatMap(({ stack }) => stack.split('\n').slice(1, 2))
    .filter((line) => /\/dist\/src\/(?!.*\.test\.)/.test(line))
    .map((line) => line.trim().replace(/^at /, ''));
}

function waits({ timer }: { readonly timer: WeakRef<NodeTimer> }): boolean {
  return timer.deref()?._destroyed === false;
}
