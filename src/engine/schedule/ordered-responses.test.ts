import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OrderedResponses } from './ordered-responses.js';

/** Responses that say their names when they go out. */
function ordered() {
  const responses = new OrderedResponses();
  const sent: string[] = [];
  const say = (name: string) => () => void sent.push(name);
  return { responses, sent, say };
}

describe('responses in the order of dispatch', () => {
  test('wait for every earlier request', () => {
    const { responses, sent, say } = ordered();
    const [first, second] = [responses.slot(), responses.slot()];
    second.deliver(say('b'), true);
    first.deliver(say('a1'), false);
    assert.deepEqual(sent, ['a1']);
    first.deliver(say('a2'), true);
    assert.deepEqual(sent, ['a1', 'a2', 'b']);
  });

  test('that come while one is being sent lose none of those behind them', () => {
    const { responses, sent, say } = ordered();
    const [first, second, third] = [responses.slot(), responses.slot(), responses.slot()];
    first.deliver(() => {
      sent.push('a');
      second.deliver(say('b'), true);
    }, true);
    third.deliver(say('c'), true);
    assert.deepEqual(sent, ['a', 'b', 'c']);
  });

  test('further ones of a request that come while its first is being sent follow it', () => {
    const { responses, sent, say } = ordered();
    const [first, second] = [responses.slot(), responses.slot()];
    second.deliver(say('b'), true);
    first.deliver(() => {
      sent.push('a1');
      first.deliver(say('a2'), true);
    }, false);
    assert.deepEqual(sent, ['a1', 'a2', 'b']);
  });
});
