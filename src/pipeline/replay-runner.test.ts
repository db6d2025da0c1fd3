import { tempMetadata } from '../../test/support/metadata.ts';
import { testReplays } from '../../test/conformance/pipeline/replay.ts';

testReplays(tempMetadata);
