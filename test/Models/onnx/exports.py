"""Small random models of PyTorch as ONNX files: the exporter's graphs, without its optimizer."""

import pathlib
import sys

import numpy as np
import torch
import transformers as hf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pytorch"))
import architectures  # noqa: E402


def mobilenet():
    module = architectures.build(hf.MobileNetV2ForImageClassification, hf.MobileNetV2Config(
        image_size=32, depth_multiplier=0.35, num_labels=5, output_stride=32))
    return module, architectures.own_loss, dict(pixel_values=architectures.numbers(2, 3, 32, 32),
                                                labels=torch.tensor([1, 3]))


def resnet():
    module = architectures.build(hf.ResNetForImageClassification, hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 2, 2, 1], layer_type="basic", num_labels=5))
    return module, architectures.own_loss, dict(pixel_values=architectures.numbers(2, 3, 32, 32),
                                                labels=torch.tensor([1, 3]))


MODELS = (architectures.gpt2, architectures.llama, architectures.bert, architectures.t5, architectures.vit,
          architectures.convnext, resnet, mobilenet)


class WithLoss(torch.nn.Module):
    """A model that takes the batch's values in order and returns its loss and scores."""

    def __init__(self, module, names):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *arguments):
        result = self.module(**dict(zip(self.names, arguments)))
        return result.loss, result.logits


def settle(module):
    """Sets evaluation mode and running statistics that differ from the initial ones."""
    generator = torch.Generator().manual_seed(5)
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.copy_(torch.randn(part.running_mean.shape, generator=generator) * 0.2)
            part.running_var.copy_(torch.rand(part.running_var.shape, generator=generator) + 0.5)
    return module.eval()


class Export:
    """A model, its file, its inputs by name, and PyTorch's results."""

    def __init__(self, make, folder, **options):
        module, _, batch = make()
        module.set_attn_implementation("eager") if make is architectures.t5 else None  # the exporter fails with the default
        with torch.no_grad():
            settle(module)
        self.module = WithLoss(module, list(batch))
        self.file = folder / f"{make.__name__}.onnx"
        program = torch.onnx.export(self.module, tuple(batch.values()), dynamo=True, verbose=False, input_names=list(batch),
                                    output_names=["loss", "logits"], **{"optimize": False, **options})
        program.save(self.file)
        self.inputs = {name: tensor.numpy() for name, tensor in batch.items()}

    def torch_gradients(self, inputs):
        """(loss, {name: gradient}) by autograd; shared parameters under all their names."""
        self.module.zero_grad()
        loss, _ = self.module(*(torch.from_numpy(inputs[name]) for name in self.module.names))
        loss.backward()
        named = self.module.named_parameters(remove_duplicate=False)
        return float(loss.detach()), {name: p.grad.numpy().copy() for name, p in named if p.grad is not None}

    def runtime_outputs(self):
        """[loss, logits] by onnxruntime."""
        import onnxruntime
        session = onnxruntime.InferenceSession(self.file, providers=["CPUExecutionProvider"])
        return [np.asarray(a) for a in session.run(["loss", "logits"], self.inputs)]
