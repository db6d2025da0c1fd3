import { tempMetadata } from '../../test/support/metadata.ts';
import { testReplays } from './replay-conformance.ts';

testReplays(tempMetadata);
