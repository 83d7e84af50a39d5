// What llama.cpp makes of a GGUF: one JSON request on standard input, its answer on standard output.
//   node llama.mjs FOLDER   (FOLDER/node_modules has node-llama-cpp, see `make llama`)
// {gguf, special, texts: [text], decode: [[id]], logits: [{ids, positions}], greedy: [{ids, count}]}
// -> {bos, eos, file_type, texts: [[id]], decoded: [text], logits: [[[number]]], greedy: [[id]]}
import {resolve} from "node:path";
import {pathToFileURL} from "node:url";

process.on("uncaughtException", ({message}) => {
    process.stderr.write(`${message}\n`);
    process.exit(1);
});
const library = resolve(process.argv[2], "node_modules/node-llama-cpp/dist/index.js");
const {getLlama} = await import(pathToFileURL(library));
const chunks = [];
for await (const chunk of process.stdin)
    chunks.push(chunk);
const request = JSON.parse(Buffer.concat(chunks).toString("utf8"));
const {texts = [], decode = [], logits = [], greedy = [], special = true} = request;

const llama = await getLlama({
    gpu: false, build: "never", progressLogs: false, logLevel: "error",
    logger: (level, message) => process.stderr.write(`${message}\n`),
});
const computes = logits.length + greedy.length > 0;
const model = await llama.loadModel({modelPath: request.gguf, gpuLayers: 0, vocabOnly: !computes});
const {shouldPrependBosToken, shouldAppendEosToken, bos, eos} = model.tokens;
const start = shouldPrependBosToken ? bos : null;
const answer = {
    bos: start,
    eos: shouldAppendEosToken ? eos : null,
    file_type: Number(model.fileInfo.metadata.general.file_type ?? 0),
    texts: texts.map((text) => model.tokenize(text, special)),
    decoded: decode.map((ids) => model.detokenize(ids[0] === start ? ids.slice(1) : ids, false)),
    logits: [],
    greedy: [],
};
if (computes) {
    const longest = Math.max(
        ...logits.map(({ids}) => ids.length), ...greedy.map(({ids, count}) => ids.length + count)
    );
    // One thread: more wait for each other, fifteen times as long where others use the cores.
    const context = await model.createContext({
        contextSize: longest + 8, batchSize: longest + 8, flashAttention: false, threads: 1,
        experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32",
    });
    const sequence = context.getSequence();
    for (const {ids, positions} of logits) {
        await sequence.clearHistory();
        const asked = new Set(positions);
        const output = await sequence.controlledEvaluate(
            ids.map((id, at) => asked.has(at) ? [id, {generateNext: {logits: true}}] : id)
        );
        answer.logits.push(positions.map((at) => {
            const row = [];
            for (const [token, logit] of output[at].next.logits)
                row[token] = logit;
            return row;
        }));
    }
    for (const {ids, count} of greedy) {
        await sequence.clearHistory();
        const made = [];
        for await (const token of sequence.evaluate(ids, {temperature: 0, yieldEogToken: true})) {
            made.push(token);
            if (made.length === count || model.isEogToken(token))
                break;
        }
        answer.greedy.push(made);
    }
}
process.stdout.write(JSON.stringify(answer), () => process.exit(0));
