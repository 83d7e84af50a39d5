"""Chat templates: text and tokens are transformers' own, and what cannot be learned is refused."""

from __future__ import annotations

import pytest
from chat_toys import messages_of, write_tokenizer

from revocab.errors import RevocabError
from revocab.training.chat.template import FOLDER, find_template, load_template
from revocab.training.data.conversations import (
    ConversationCount,
    conversations_of,
    load_chat_tokenizer,
)
from revocab.vocabulary.tokenizers.load import load_tokenizer

MESSAGES = [
    {"role": "system", "content": "Reply in Italian."},
    {"role": "user", "content": "Who is Lora?"},
    {"role": "assistant", "content": "È maestra."},
    {"role": "user", "content": "Where?"},
    {"role": "assistant", "content": "A Pieve."},
]
#: As the formats are documented: what a conversation looks like, and, in «», what is learned.
TEXTS = {
    "completion": ("<s>Reply in Italian.Who is Lora?« È maestra.</s>»Where?« A Pieve.</s>»"),
    "plain": (
        "<s>system:\nReply in Italian.\nuser:\nWho is Lora?\nassistant:\n«È maestra.</s>»user:\n"
        "Where?\nassistant:\n«A Pieve.</s>»"
    ),
    "chatml": (
        "<|im_start|>system\nReply in Italian.<|im_end|>\n"
        "<|im_start|>user\nWho is Lora?<|im_end|>\n"
        "<|im_start|>assistant\n«È maestra.<|im_end|>»\n<|im_start|>user\nWhere?<|im_end|>\n"
        "<|im_start|>assistant\n«A Pieve.<|im_end|>»\n"
    ),
    "llama-3": (
        "<s><|start_header_id|>system<|end_header_id|>\n\nReply in Italian.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nWho is Lora?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n«È maestra.<|eot_id|>»"
        "<|start_header_id|>user<|end_header_id|>\n\nWhere?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n«A Pieve.<|eot_id|>»"
    ),
    "mistral": (
        "<s>[INST] Reply in Italian.\n\nWho is Lora? [/INST]« È maestra.</s>»[INST] Where? [/INST]"
        "« A Pieve.</s>»"
    ),
    "openchat": (
        "<s>GPT4 Correct System: Reply in Italian.<|end_of_turn|>"
        "GPT4 Correct User: Who is Lora?<|end_of_turn|>"
        "GPT4 Correct Assistant:« È maestra.<|end_of_turn|>»"
        "GPT4 Correct User: Where?<|end_of_turn|>GPT4 Correct Assistant:« A Pieve.<|end_of_turn|>»"
    ),
}


def encoded(chat, rows):
    return list(conversations_of(chat, rows, ConversationCount("it", share=1.0, rows=0)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("chat") / "tokenizer")


@pytest.fixture(scope="module")
def tokenizer(folder):
    return load_tokenizer(folder)


@pytest.mark.parametrize("name", TEXTS)
def test_a_template_writes_the_documented_format_and_marks_the_answers(name, tokenizer, folder):
    rendered = load_template(tokenizer, folder, name).rendered(MESSAGES, "it")
    marked = rendered.text
    for begin, end in reversed(rendered.answers):
        marked = f"{marked[:begin]}«{marked[begin:end]}»{marked[end:]}"
    assert marked == TEXTS[name]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    "roles",
    [
        ["system", "assistant"],
        ["system", "assistant", "user", "assistant"],
        ["user", "assistant", "system"],
        ["system", "system", "user", "assistant"],
    ],
)
def test_no_message_is_lost_wherever_it_stands(name, roles, tokenizer, folder):
    messages = [
        {"role": role, "content": f"Message {number}."} for number, role in enumerate(roles)
    ]
    text = load_template(tokenizer, folder, name).rendered(messages, "it").text
    places = [text.find(message["content"]) for message in messages]
    assert -1 not in places and places == sorted(places)
    assert all(text.count(message["content"]) == 1 for message in messages)


@pytest.mark.parametrize("name", TEXTS)
def test_tokens_and_masks_are_those_of_apply_chat_template(name, tokenizer, folder):
    chat = load_chat_tokenizer(folder, name)
    conversations = [messages_of(n, 1 + n % 3) for n in range(20)]
    rows = [{"id": str(n), "text": "", "messages": one} for n, one in enumerate(conversations)]
    ours = encoded(chat, rows)
    theirs = tokenizer.apply_chat_template(
        conversations,
        chat_template=(FOLDER / f"{name}.jinja").read_text(),
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    assert [one.ids for one in ours] == theirs["input_ids"]
    assert [one.learned.tolist() for one in ours] == [
        [bool(bit) for bit in mask] for mask in theirs["assistant_masks"]
    ]


@pytest.mark.parametrize("name", ["plain", "completion"])
def test_the_prompt_is_the_beginning_of_the_conversation(name, tokenizer, folder):
    """So that a model is asked as it has learned to answer."""
    template = (FOLDER / f"{name}.jinja").read_text()
    asked = {"chat_template": template, "return_dict": False}
    for number in range(20):
        messages = messages_of(number, 2)
        whole = tokenizer.apply_chat_template(messages, **asked)
        prompt = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True, **asked)
        assert whole[: len(prompt)] == prompt


TURN = (
    "{% for m in messages %}{% if m.role == 'assistant' %}ANSWER"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}"
)
MARKED = "{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (MARKED.replace("{% generation %}", "").replace("{% endgeneration %}", ""),
         r"marks no answer; give a file .* plain"),
        ("{{ m.content }}{% generation %}{{ eos_token }}{% endgeneration %}", "outside the marks"),
        ("{% generation %}{{ m.content }}{% endgeneration %}{{ eos_token }}",
         "no special token ends"),
        (MARKED.replace("{% endgeneration %}", ""), "cannot be rendered"),
        ("{{ strftime_now('%d') }}" + MARKED, "today's date"),
        ("{{ bos_token }}" + MARKED, "bos more than once"),
        ("{{ ''.__class__.__mro__ }}" + MARKED, "template refused"),
        ("{{ messages.append(1) }}" + MARKED, "template refused"),
    ],
)  # fmt: skip
def test_a_template_that_nothing_can_be_learned_from_is_refused(folder, tmp_path, answer, said):
    file = tmp_path / "mine.jinja"
    file.write_text(TURN.replace("ANSWER", answer))
    with pytest.raises(RevocabError, match=said) as error:
        load_chat_tokenizer(folder, file)
    assert all(str(file) in problem for problem in error.value.problems)


def test_a_tokenizer_without_a_template_is_refused(folder):
    with pytest.raises(RevocabError, match=r"has no chat template; give .*completion, llama-3"):
        load_chat_tokenizer(folder)


def test_the_tokenizers_own_template_is_taken(folder, tmp_path):
    own = load_tokenizer(folder)
    own.chat_template = (FOLDER / "chatml.jinja").read_text()
    own.save_pretrained(tmp_path / "own")
    rows = [{"id": "0", "text": "", "messages": messages_of(0)}]
    (ours,) = encoded(load_chat_tokenizer(tmp_path / "own"), rows)
    (named,) = encoded(load_chat_tokenizer(folder, "chatml"), rows)
    assert ours.ids == named.ids


def test_a_name_that_is_neither_file_nor_template_is_refused():
    with pytest.raises(RevocabError, match=r"no file 'plane', and no template.*known: chatml"):
        find_template("plane")


def test_a_message_with_the_text_of_a_special_token_is_left_out(folder):
    chat = load_chat_tokenizer(folder, "plain")
    rows = [
        {"id": "0", "text": "", "messages": messages_of(0)},
        {"id": "1", "text": "",
         "messages": [*messages_of(1), {"role": "user", "content": "a</s>b"}]},
    ]  # fmt: skip
    count = ConversationCount("it", share=1.0, rows=0)
    assert [conversation.id for conversation in conversations_of(chat, rows, count)] == ["0"]
    assert count.skipped_special == 1


def test_what_a_template_refuses_names_the_conversation(folder):
    chat = load_chat_tokenizer(folder, "mistral")
    rows = [
        {"id": "x7", "text": "", "messages": [{"role": "tool", "content": "1"}, *messages_of(0)]}
    ]
    with pytest.raises(RevocabError, match=r"mistral.jinja: conversation 'x7': .*received tool"):
        encoded(chat, rows)
