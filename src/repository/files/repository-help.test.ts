import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { isEmptyRepository, repositoryHint } from './repository-help.js';

const root = mkdtempSync(path.join(tmpdir(), 'help-'));
after(() => rmSync(root, { recursive: true }));
const repository = path.join(root, 'all', 'models');
const version = path.join(repository, 'simple', '1');
mkdirSync(version, { recursive: true });
writeFileSync(path.join(version, 'model.onnx'), 'x');
mkdirSync(path.join(root, 'empty'));

test('a repository needs no hint', () => {
  assert.equal(repositoryHint(repository), undefined);
  assert.equal(repositoryHint('s3://bucket/models'), undefined);
});

test('the folder above repositories names them', () => {
  assert.match(
    repositoryHint(path.join(root, 'all')) ?? '',
    new RegExp(`holds no models itself, .*--model-repository=${repository}$`),
  );
});

test("one model's folder and a version's folder name the repository", () => {
  const wanted = new RegExp(`--model-repository=${repository}$`);
  assert.match(repositoryHint(path.join(repository, 'simple')) ?? '', wanted);
  assert.match(repositoryHint(version) ?? '', wanted);
});

test('nothing there: the nearest folder, and repositories beside it', () => {
  assert.match(
    repositoryHint(path.join(root, 'all', 'model')) ?? '',
    new RegExp(`Model repositories there: '${repository}'`),
  );
  assert.match(repositoryHint(path.join(repository, 'nosuch')) ?? '', new RegExp(`--model-repository=${repository}$`));
});

test('a file is not a repository; an empty directory has a message of its own', () => {
  assert.match(repositoryHint(path.join(version, 'model.onnx')) ?? '', /is a file/);
  assert.equal(repositoryHint(path.join(root, 'empty')), undefined);
  assert.equal(isEmptyRepository(path.join(root, 'empty')), true);
  assert.equal(isEmptyRepository(repository), false);
});
