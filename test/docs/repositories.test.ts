import { testPages } from './test-pages.js';

testPages('repositories.test.ts');
