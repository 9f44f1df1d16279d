// Reporter for node --test: a dot for each file, every failure in full, and the totals in one line at the end.
export default async function* report(source) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of source) {
    if (type === 'test:pass' && data.details.type !== 'suite') {
      if (data.skip === undefined && data.todo === undefined) count.passed++;
      else {
        count.skipped++;
        yield `\nSKIPPED ${data.name}: ${data.skip ?? data.todo}\n`;
      }
      if (data.nesting === 0) yield '.';
    } else if (type === 'test:fail' && data.details.type !== 'suite') {
      count.failed++;
      const { error } = data.details;
      yield `\nFAILED ${data.name} (${data.file ?? ''}:${data.line ?? ''})\n${describe(error)}\n`;
    } else if (type === 'test:stderr') {
      yield data.message;
    }
  }
  yield `\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`;
}

function describe(error) {
  const cause = error?.cause ?? error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
