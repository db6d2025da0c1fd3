import { tempMetadata } from '../../../test/support/metadata.ts';
import { testPluginPackages } from '../../../test/conformance/plugin-packages/plugin-packages.ts';

testPluginPackages('sqlite', tempMetadata);
